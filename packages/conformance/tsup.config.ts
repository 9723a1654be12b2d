import { defineConfig } from 'tsup';
import { preset } from '../../tsup.preset.js';

export default defineConfig([
  preset,
  { ...preset, entry: ['src/cli.ts'], format: ['esm'], dts: false, clean: false },
]);
