import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Options } from 'tsup';

const { optionalDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8'));

/** src/testing/index.ts → testing/index, the entry's name in dist/. */
const nameOf = (path: string) => path.replace(/^src\//, '').replace(/\.ts$/, '');

/** What the target `declarations` (TypeScript 7) wrote for an entry: rolling up takes a tenth of the time that sources would. */
const declarationsOf = (path: string) =>
  `../../build/declarations/packages/${basename(process.cwd())}/${path.replace(/\.ts$/, '.d.ts')}`;

/**
 * The build of a package: ESM and CommonJS with declarations. All dependencies are left to npm; tsup itself knows of
 * those that are not optional. `import.meta` is empty in CommonJS, as in bundles of it: modules that ask where they are then look
 * for `__filename`. `entries`: modules that are imported by name
 */
export const library = (entries = ['src/index.ts']): Options => ({
  entry: entries,
  format: ['esm', 'cjs'],
  dts: {
    entry: Object.fromEntries(entries.map((path) => [nameOf(path), declarationsOf(path)])),
    compilerOptions: { ignoreDeprecations: '6.0', paths: {} },
  },
  external: Object.keys(optionalDependencies),
  sourcemap: true,
  clean: true,
  target: 'node20',
  platform: 'node',
  esbuildOptions: (options) => {
    options.logOverride = { 'empty-import-meta': 'silent' };
  },
});

/** The build of a command, with the programs that it starts: ESM without declarations. */
export const program = (...entries: string[]): Options => ({
  ...library(entries),
  format: ['esm'],
  dts: false,
});
