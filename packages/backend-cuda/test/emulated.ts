// backend-cuda on the emulated device.
import { buildEmulated } from './build-emulated.mjs';

Object.assign(process.env, buildEmulated());
