import { defineConfig } from 'tsup';
import { library } from '../../tsup.preset.js';

// The library, and the scripts of its threads (src/worker-path.ts).
export default defineConfig({
  ...library(),
  entry: {
    index: 'src/index.ts',
    'encode-worker': 'src/quantize/encode-worker.ts',
    'decode-worker': 'src/decode/decode-worker.ts',
  },
});
