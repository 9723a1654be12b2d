import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The folder of this package. In `dist` as in `src`, this module lies one folder below it. */
export const ownFolder = fileURLToPath(new URL('../', import.meta.url));

export const { version } = createRequire(import.meta.url)('../package.json') as { readonly version: string };

/** The program of doctor/probe-backends.ts. */
export const probeProgram = fileURLToPath(new URL('./probe.js', import.meta.url));
