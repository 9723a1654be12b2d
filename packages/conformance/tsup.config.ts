import { defineConfig } from 'tsup';
import { library, program } from '../../tsup.preset.js';

export default defineConfig([library(), { ...program('src/cli.ts'), clean: false }]);
