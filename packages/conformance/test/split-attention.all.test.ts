// Tensor units of 16 bits can compute attention within its tolerance: q and k in two bf16 each. A single f16 is too coarse.
import { runConformance } from '@quern/conformance';
import { elements, f16ToF32, f32ToF16, type HostBuffer, type Kernel, type KernelMemory } from '@quern/core';
import { richDriver } from './rich-driver.js';
import { splitAttention } from './split-attention.js';

const runWith = (change: (right: Kernel) => Kernel, seed = 0) => {
  const createDriver = () => {
    const driver = richDriver();
    return { ...driver, kernels: { ...driver.kernels, attention: change(driver.kernels.attention) } };
  };
  const only = { suites: ['ops', 'generated'], cases: /^attention: (24 rows|seed)/ };
  return runConformance({ createDriver, only, seed });
};

test.each([0, 1])(
  'q and k in two bf16 each are right, seed %i',
  async (seed) => {
    const { results, closeness } = await runWith(splitAttention, seed);
    expect(results.filter(({ status }) => status !== 'passed')).toEqual([]);
    const largest = Math.max(...closeness.map(({ share }) => share));
    expect(largest).toBeLessThan(0.5); // leaves room for sums in floats
    expect(largest).toBeGreaterThan(0.05);
  },
  120_000,
);

function toF16(tensor: KernelMemory): KernelMemory {
  const values = Float32Array.from(elements(tensor), (value) => f16ToF32(f32ToF16(value)));
  return { ...tensor, byteOffset: 0, buffer: { id: -1, bytes: values.buffer } as HostBuffer };
}

test('q in one f16 is found by every prompt', async () => {
  const { results } = await runWith(
    (right) =>
      ({ q, ...others }, ...rest) =>
        right({ ...others, q: toF16(q as KernelMemory) }, ...rest),
  );
  const prompts = results.filter(({ name }) => name.includes('24 rows'));
  expect(prompts.map(({ status }) => status)).toEqual(prompts.map(() => 'failed'));
  expect(prompts.length).toBeGreaterThan(5);
}, 120_000);
