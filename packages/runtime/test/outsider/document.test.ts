import { readdirSync, readFileSync } from 'node:fs';

const example = new URL('../../../../docs/examples/backend/', import.meta.url);

test('the README of docs/examples/backend links to every file of the folder', () => {
  const readme = readFileSync(new URL('README.md', example), 'utf8');
  const shown = [...readme.matchAll(/\]\(([\w.-]+)\)/g)].map(([, link]) => link!);
  expect(shown.sort()).toEqual(
    readdirSync(example)
      .filter((file) => file !== 'README.md')
      .sort(),
  );
});
