import { fileURLToPath } from 'node:url';
import { buildEmulated as build } from '../../gpu/test/build-emulated.mjs';

/** The settings with which this backend runs on the emulated device. */
export const buildEmulated = () => build('metal', fileURLToPath(new URL('..', import.meta.url)));
