// @quern/core/testing: values for tests of kernels, drivers and models.
export type { ErrorSample, Sample, SampleOperand, SampleOperands } from './samples.js';
export { as, floats, inCache, integers, ints, normal, random, zeros } from './samples.js';
