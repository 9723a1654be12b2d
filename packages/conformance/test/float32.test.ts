// A device without float64 can compute ropeTable and sample within tolerance.
import { runConformance } from '@quern/conformance';
import { ropeTable, sampleOver } from './float32-kernels.js';
import { richDriver } from './rich-driver.js';

const createDriver = () => {
  const driver = richDriver();
  return { ...driver, kernels: { ...driver.kernels, ropeTable, sample: sampleOver(driver.kernels.sample!) } };
};

test.each(['ropeTable', 'sample'])('%s of a device without float64 is right', async (op) => {
  const shares: number[] = [];
  for (const seed of [0, 1, 2]) {
    const only = { suites: ['ops', 'generated', 'views', 'errors'], cases: new RegExp(`^${op}:`) };
    const { results, closeness } = await runConformance({ createDriver, only, seed });
    expect(results.filter(({ status }) => status !== 'passed')).toEqual([]);
    shares.push(...closeness.map(({ share }) => share));
  }
  expect(Math.max(...shares)).toBeLessThan(0.5); // leaves room for coarser sin and cos on a device
});
