import type { Backend, KvBuffer, KvSpec, Weight } from '@quern/core';
import type { Case } from '../case.js';
import type { Lab } from '../lab.js';
import { bytesOf } from '../values/numbers.js';

/** Cases of a suite, each with its own backend. */
export const fresh =
  (suite: string) =>
  (name: string, prove: (backend: Backend, lab: Lab) => Promise<void>): Case => ({
    suite,
    name,
    async run(lab) {
      const backend = await lab.open();
      try {
        await prove(backend, lab);
      } finally {
        backend.dispose();
      }
    },
  });

export const floats = (...values: number[]): Float32Array => Float32Array.from(values);

/** Cache buffer of one token, one head, two elements. */
export const oneToken: KvSpec = { blocks: 1, blockSize: 1, heads: 1, headDim: 2, dtype: 'f32' };

/** A cache buffer of one block of `bytes` bytes, a multiple of 256. */
export const cacheOfBytes = (backend: Backend, bytes: number): KvBuffer =>
  backend.kvBuffer({ blocks: 1, blockSize: bytes / 256, heads: 1, headDim: 64, dtype: 'f32' });

export const loadValues = (
  backend: Backend,
  array: Float32Array,
  shape: readonly number[] = [array.length],
): Promise<Weight> => backend.loadWeight({ name: 'w', shape, format: 'f32', bytes: bytesOf(array) });
