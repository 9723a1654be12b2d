import { fileURLToPath } from 'node:url';

/** Absolute path of the demo model, a GGUF file (Llama, 2.4 million parameters, Q8_0). */
export const demoModelPath: string = fileURLToPath(new URL('../model/quern-demo.gguf', import.meta.url));

/** A beginning that the demo model knows how to go on from. */
export const demoPrompt: string = 'Once upon a time';
