import type { Backend, Weight } from '@quern/core';
import { decodedFormat } from './decode-weight.js';
import { isGrouped } from './gptq.js';
import type { ResolvedWeight } from './resolve-weights.js';
import type { StoredTensor } from './weight-file.js';

const noBytes = new Uint8Array(0);

/** Weights without data, for a rehearsal: names, shapes and formats as after loading. Reads no byte. */
export const rehearseWeights = (
  backend: Backend,
  resolved: readonly ResolvedWeight[],
  readsNatively: (tensor: StoredTensor) => boolean,
): Promise<readonly Weight[]> =>
  Promise.all(
    resolved.map(({ tensor }) => {
      const format = !readsNatively(tensor)
        ? decodedFormat(backend, tensor)
        : isGrouped(tensor)
          ? 'f32' // the driver's format is known only after loading
          : tensor.format;
      return backend.loadWeight({ name: tensor.name, shape: tensor.shape, format, bytes: noBytes });
    }),
  );
