import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Bundlers that make CommonJS of ESM leave `import.meta.url` empty; `__filename` is there then. */
const here = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

/** Absolute path of the demo model, a GGUF file (Llama, 2.4 million parameters, Q8_0). */
export const demoModelPath: string = resolve(here, '../../model/quern-demo.gguf');

/** A beginning that the demo model knows how to go on from. */
export const demoPrompt: string = 'Once upon a time';
