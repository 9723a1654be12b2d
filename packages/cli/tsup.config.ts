import { defineConfig } from 'tsup';
import { program } from '../../tsup.preset.js';

export default defineConfig(program('src/cli.ts', 'src/probe.ts'));
