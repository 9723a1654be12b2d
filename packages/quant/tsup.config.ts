import { defineConfig } from 'tsup';
import { preset } from '../../tsup.preset.js';

// Beside the library, what its threads run (src/worker-path.ts).
export default defineConfig({
  ...preset,
  entry: {
    index: 'src/index.ts',
    'encode-worker': 'src/quantize/encode-worker.ts',
    'decode-worker': 'src/decode/decode-worker.ts',
  },
});
