import { readdirSync, readFileSync } from 'node:fs';
import { findBackend } from '../../src/index.js';
import { makeApplication } from '../application.js';

test.each(['backend', 'architecture'])(
  'the README of docs/examples/%s links to every file of the folder',
  (name) => {
    const example = new URL(`../../../../docs/examples/${name}/`, import.meta.url);
    const readme = readFileSync(new URL('README.md', example), 'utf8');
    const shown = [...readme.matchAll(/\]\(([\w.-]+)\)/g)].map(([, link]) => link!);
    expect(shown.sort()).toEqual(
      readdirSync(example)
        .filter((file) => file !== 'README.md')
        .sort(),
    );
  },
);

test('the shortest driver of docs/writing-a-backend.md computes, with its own kernel', async () => {
  const page = readFileSync(new URL('../../../../docs/writing-a-backend.md', import.meta.url), 'utf8');
  const [, code = ''] = /^```js\n((?:(?!^```).)*?referenceDriver.*?)^```$/ms.exec(page) ?? [];
  const resolveFrom = makeApplication({
    'quern-backend-tiny': { quern: { backend: './index.mjs' }, files: { 'index.mjs': code } },
  });
  const foo = { resolveFrom, backendOptions: { foo: 1 } };
  await expect(findBackend('tiny', foo)).rejects.toThrow("there is no option 'foo'");
  const { backend } = await findBackend('tiny', { resolveFrom, threads: 1, precision: 'exact' });
  using step = backend.step();
  const x = step.input(Float32Array.of(-1, 0, 2));
  const y = Array.from(await step.read(backend.silu(x)));
  expect(y.map((value) => value.toFixed(4))).toEqual(['-0.2689', '0.0000', '1.7616']);
  backend.dispose();
});
