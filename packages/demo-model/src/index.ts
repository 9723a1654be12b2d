import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Bundlers that convert ESM to CommonJS leave `import.meta.url` empty; `__filename` exists then. */
const here = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

/** Absolute path of the demo model, a GGUF file (Llama, 2.4 million parameters, Q8_0). */
export const demoModelPath: string = resolve(here, '../../model/quern-demo.gguf');

/** A prompt for the demo model. */
export const demoPrompt: string = 'Once upon a time';
