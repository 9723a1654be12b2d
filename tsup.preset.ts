import type { Options } from 'tsup';

/**
 * One build for every package: ESM and CommonJS with declarations. What is not the package's own is left to npm, optional
 * dependencies too. `import.meta` is empty in CommonJS, as in bundles of it: modules that ask where they are look for
 * `__filename` first.
 */
export const preset: Options = {
  entry: ['src/index.ts'],
  format: ['esm', 'cjs'],
  dts: { compilerOptions: { ignoreDeprecations: '6.0', paths: {} } },
  sourcemap: true,
  clean: true,
  target: 'node20',
  platform: 'node',
  skipNodeModulesBundle: true,
  treeshake: true,
  esbuildOptions: (options) => {
    options.logOverride = { 'empty-import-meta': 'silent' };
  },
};
