import { readFileSync } from 'node:fs';
import type { Options } from 'tsup';

const { optionalDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8'));

/**
 * One build for every package: ESM and CommonJS with declarations. All dependencies are left to npm; tsup itself knows of
 * those that are not optional. `import.meta` is empty in CommonJS, as in bundles of it: modules that ask where they are then look
 * for `__filename`.
 */
export const preset: Options = {
  entry: ['src/index.ts'],
  format: ['esm', 'cjs'],
  // `npm start` and `npm test` read no declarations, which take as long as the rest of a build.
  dts: process.env.QUERN_DECLARATIONS !== 'false' && {
    compilerOptions: { ignoreDeprecations: '6.0', paths: {} },
  },
  external: Object.keys(optionalDependencies),
  sourcemap: true,
  clean: true,
  target: 'node20',
  platform: 'node',
  treeshake: true,
  esbuildOptions: (options) => {
    options.logOverride = { 'empty-import-meta': 'silent' };
  },
};
