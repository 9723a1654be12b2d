import type { DeviceProfile } from '@quern/core';
import { dot } from './products.js';

/** Bytes and operations per second of `dot`, the inner loop of `linear`: the best of 5 runs. */
export function measure(): Pick<DeviceProfile, 'readBandwidth' | 'flops'> {
  const values = new Float32Array(1 << 20).fill(0.5);
  const seconds = Array.from({ length: 5 }, () => {
    const start = performance.now();
    dot(values, 0, values, 0, values.length);
    return (performance.now() - start) / 1000;
  });
  const best = Math.min(...seconds);
  return { readBandwidth: values.byteLength / best, flops: (2 * values.length) / best };
}
