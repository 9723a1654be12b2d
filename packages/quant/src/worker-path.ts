/** What threads run: always the built files, which Node can read; dist/ and src/ are both one folder above this module. */
export const encodeWorker = new URL('../dist/encode-worker.js', import.meta.url);
export const decodeWorker = new URL('../dist/decode-worker.js', import.meta.url);
