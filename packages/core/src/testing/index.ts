// @quern/core/testing: values for tests of kernels, drivers and models.
export { mapped } from '../op/numbers.js';
export type { ErrorSample, Sample, SampleOperand, SampleOperands } from './samples.js';
export { as, changed, floats, inCache, integers, ints, normal, random, zeros } from './samples.js';
