export { SamplingError, type SamplingErrorCode } from './error.js';
export type { SamplingOptions } from './options.js';
export { Sampler } from './sampler.js';
