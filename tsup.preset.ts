import type { Options } from 'tsup';

/** One build for every package: ESM and CommonJS with declarations, workspace imports left to npm. */
export const preset: Options = {
  entry: ['src/index.ts'],
  format: ['esm', 'cjs'],
  dts: { compilerOptions: { ignoreDeprecations: '6.0', paths: {} } },
  sourcemap: true,
  clean: true,
  target: 'node20',
  platform: 'node',
  shims: true,
  treeshake: true,
};
