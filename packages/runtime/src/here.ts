import { fileURLToPath } from 'node:url';

/** The file of this module. Bundlers that make CommonJS of ESM leave `import.meta.url` empty; `__filename` is there then. */
export const here: string = import.meta.url ? fileURLToPath(import.meta.url) : __filename;
