import { createRequire } from 'node:module';
import { here } from './here.js';

/** Of this package. */
export const { version }: { version: string } = createRequire(here)('../package.json');
