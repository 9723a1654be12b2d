import { fileURLToPath } from 'node:url';

/**
 * The path of this module. Bundlers that convert ESM to CommonJS leave `import.meta.url` empty, but define
 * `__filename`.
 */
export const here: string = import.meta.url ? fileURLToPath(import.meta.url) : __filename;
