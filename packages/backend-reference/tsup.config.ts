import { defineConfig } from 'tsup';
import { preset } from '../../tsup.preset.js';

export default defineConfig({ ...preset, entry: ['src/index.ts', 'src/register.ts'] });
