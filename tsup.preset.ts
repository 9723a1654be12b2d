import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Options } from 'tsup';
import { builtins, licences } from './tools/bundling/bundled-dependencies.js';

const { optionalDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8'));

/** src/testing/index.ts → testing/index, the entry's name in dist/. */
const nameOf = (path: string) => path.replace(/^src\//, '').replace(/\.ts$/, '');

/** What the target `declarations` (TypeScript 7) wrote for an entry: rolling up takes a tenth of the time that sources would. */
const declarationsOf = (path: string) =>
  `../../build/declarations/packages/${basename(process.cwd())}/${path.replace(/\.ts$/, '.d.ts')}`;

/**
 * The build of a package: ESM and CommonJS with declarations. Dependencies are left to npm (tsup itself lists those that are not
 * optional); imported development dependencies are bundled. Source maps are for tests: packages leave them out. `import.meta` is
 * empty in CommonJS, as in bundles of it: modules that ask where they are then look for `__filename`. `entries`: modules that are
 * imported by name. `programs`: commands, which share the code of the entries
 */
export const library = (entries = ['src/index.ts'], programs: readonly string[] = []): Options => ({
  entry: [...entries, ...programs],
  format: ['esm', 'cjs'],
  dts: {
    entry: Object.fromEntries(entries.map((path) => [nameOf(path), declarationsOf(path)])),
    compilerOptions: { ignoreDeprecations: '6.0', paths: {} },
  },
  external: Object.keys(optionalDependencies),
  sourcemap: true,
  esbuildPlugins: [builtins, licences()],
  removeNodeProtocol: false,
  clean: true,
  target: 'node20',
  platform: 'node',
  esbuildOptions: (options, { format }) => {
    options.logOverride = { 'empty-import-meta': 'silent' };
    // Of the two copies of the code, the modules are the one to read.
    if (format === 'cjs') Object.assign(options, { minifyWhitespace: true, lineLimit: 160 });
  },
});

/** The build of a command, with the programs that it starts: ESM without declarations. */
export const program = (...entries: string[]): Options => ({
  ...library(entries),
  format: ['esm'],
  dts: false,
});
