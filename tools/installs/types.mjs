// The declarations as applications compile them, and what @arethetypeswrong/cli says of each package. (publint runs with every run of
// tools/packed/test.mjs.)
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { librariesOf } from './alone.mjs';
import { attempt } from './table.mjs';
import { anyVersion, installed, once, run } from './work.mjs';

const part = 'Types';
const program = new URL('./files/use.mts', import.meta.url);
/** Versions of TypeScript, and seconds of a processor. */
const compilers = { 5.7: 14, '6.0': 14, '7.0': 5 };

const strict = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
  skipLibCheck: false,
};
const ways = {
  'nodenext, ESM': ['use.mts', { module: 'nodenext' }],
  'nodenext, CommonJS': ['use.cts', { module: 'nodenext' }],
  bundler: ['use.ts', { module: 'esnext', moduleResolution: 'bundler' }],
};

async function checkCompiler(version, { origin, tarballs }) {
  const names = librariesOf(tarballs);
  const dependencies = { ...anyVersion(...names), typescript: `~${version}`, '@types/node': '^20' };
  const prepared = once(async () => {
    const folder = await installed(`types-${version}`, origin, {
      dependencies,
      manifest: { type: 'module' },
    });
    for (const [file] of Object.values(ways)) copyFileSync(program, join(folder, file));
    return folder;
  });
  for (const [way, [file, options]] of Object.entries(ways))
    await attempt({ part, project: `TypeScript ${version}, strict, ${way}` }, async () => {
      const folder = await prepared();
      const flags = Object.entries({ ...strict, ...options }).flatMap(([name, value]) => [
        `--${name}`,
        String(value),
      ]);
      await run(process.execPath, ['node_modules/typescript/bin/tsc', ...flags, file], { cwd: folder });
    });
}

/** @arethetypeswrong/cli, without resolution by TypeScript's node10, which knows no `exports`. */
async function checkForms({ origin, packs, tarballs }) {
  const prepared = once(() =>
    installed('form', origin, { dependencies: { '@arethetypeswrong/cli': '0.18' } }),
  );
  for (const name of librariesOf(tarballs))
    await attempt({ part, project: `${name}: @arethetypeswrong/cli` }, async () => {
      const folder = await prepared();
      const file = tarballs.find((each) => each.startsWith(`${name.replace('@', '').replace('/', '-')}-0`));
      const ignored = name === '@quern/native-runtime' ? ['--exclude-entrypoints', 'cmake'] : []; // a file for CMake
      const flags = ['--profile', 'node16', '--format', 'ascii', '--no-color', ...ignored];
      await run(join(folder, 'node_modules/.bin/attw'), [join(packs, file), ...flags], { cwd: folder });
    });
}

export const typeCases = [
  ...Object.entries(compilers).map(([version, seconds]) => ({
    name: `types/${version}`,
    seconds,
    act: (context) => checkCompiler(version, context),
  })),
  { name: 'types/form', seconds: 29, act: checkForms },
];
