import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Absolute path of the demo model, a GGUF file (Llama, 2.4 million parameters, Q8_0). The forms are those that bundlers
 * and tracers know: they take the file along. Bundlers that convert ESM to CommonJS leave `import.meta.url` empty;
 * `__dirname` exists then.
 */
export const demoModelPath: string = import.meta.url
  ? fileURLToPath(new URL('../model/quern-demo.gguf', import.meta.url))
  : join(__dirname, '../model/quern-demo.gguf');

/** A prompt for the demo model. */
export const demoPrompt: string = 'Once upon a time';
