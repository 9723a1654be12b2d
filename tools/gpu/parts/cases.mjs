// Ops on true shapes whose operands no cache holds: what is measured of products and attention.
import { contiguousKvCache, inputBatch } from '@quern/core';
import { owning } from './device.mjs';
import { small } from './setting.mjs';
import { loadCopies } from './weights.mjs';

/** More than the caches of a device hold. */
const beyondCaches = small ? 1 : 256 * 2 ** 20;

/** Values between −1 and 1 that repeat. */
export function floats(count) {
  const values = new Float32Array(count);
  for (let i = 0; i < Math.min(count, 4096); i++) values[i] = Math.sin(i);
  for (let at = 4096; at < count; at *= 2) values.copyWithin(at, 0, Math.min(at, count - at));
  return values;
}

const shownFormat = (format) => (format === 'gptq' ? 'gptq int4' : format);
export const productName = (format, [N, K], rows) => `linear ${shownFormat(format)} ${rows}×[${N}×${K}]`;

/** `use` of copies of a matrix [N, K]. */
export async function withWeights(backend, format, shape, use) {
  const weights = await loadCopies(backend, format, shape, beyondCaches);
  try {
    await use(weights);
  } finally {
    for (const weight of weights) weight.dispose();
  }
}

/** Products of T rows with each copy in turn: { work, record } of `measure`. */
export function productOf(backend, weights, [N, K], T) {
  const record = {
    prepare: (step) => step.input(floats(T * K), [T, K]),
    op: (_, x, i) => backend.linear(x, weights[i % weights.length]),
    least: weights.length,
  };
  return { work: { bytes: weights[0].byteLength + 4 * T * (N + K), flops: 2 * T * N * K }, record };
}

const heads = small ? { heads: 4, kvHeads: 2, headDim: 32 } : { heads: 32, kvHeads: 8, headDim: 128 };
/** Of caches: 128 layers of 2 MiB hold as much as beyondCaches. */
const maxLayers = 128;
const cacheBytes = { f16: 2, bf16: 2, int8: 1 };

export const attentionName = (dtype, { sequences, rows, depth }) =>
  `attention ${dtype} ${sequences} × ${rows} rows, depth ${depth}`;

/** `use` of { work, record }: attention of `rows` new tokens of each of `sequences`, after `depth` tokens. */
export async function withAttention(backend, dtype, { sequences, rows, depth }, use) {
  const { heads: H, kvHeads, headDim: d } = heads;
  const length = depth + rows;
  const T = sequences * rows;
  const layerBytes = 2 * cacheBytes[dtype] * sequences * length * kvHeads * d;
  const layers = Math.min(maxLayers, Math.ceil(beyondCaches / layerBytes));
  const shape = { layers, kvHeads, headDim: d, dtype, context: length, sequences };
  const config = { heads: H, kvHeads, headDim: d, scale: d ** -0.5, causal: true, bf16: true };
  const work = { bytes: layerBytes + 8 * T * H * d, flops: 4 * T * H * d * (depth + (rows + 1) / 2) };
  await owning(contiguousKvCache(backend, shape), async (cache) => {
    const entries = Array.from({ length: sequences }, () => ({ sequence: cache.sequence(), rows }));
    for (const { sequence } of entries) sequence.append(length);
    const record = {
      prepare: (step) => ({
        q: step.input(floats(T * H * d), [T, H, d]),
        batch: inputBatch(step, cache.describe(entries)),
      }),
      op: (_, { q, batch }, i) => backend.attention(q, cache.layer(i % layers), batch, config),
      least: layers,
    };
    await use({ work, record });
  });
}
