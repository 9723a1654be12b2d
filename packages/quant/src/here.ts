import { fileURLToPath } from 'node:url';

/** The file of this module. In CommonJS made by a bundler `import.meta.url` is empty, but `__filename` exists. */
export const here: string = import.meta.url ? fileURLToPath(import.meta.url) : __filename;
