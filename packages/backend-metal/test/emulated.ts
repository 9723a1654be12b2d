// backend-metal on the emulated device.
import { buildEmulated } from './build-emulated.mjs';

Object.assign(process.env, buildEmulated(), { QUERN_METAL_CACHE: '' });
