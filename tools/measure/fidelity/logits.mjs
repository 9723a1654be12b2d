import { loadModel } from '../../../packages/runtime/dist/index.js';

/** Logits [T · V] of Quern: `rows` tokens per step, a cache of `kv`. */
export async function quernLogits(path, ids, { backend, kv, rows }) {
  const model = await loadModel(path, {
    backend,
    context: ids.length,
    cacheDtype: kv,
    prefillChunk: rows,
  });
  try {
    const perPosition = await model.logits(ids);
    const all = new Float32Array(perPosition.length * perPosition[0].length);
    for (const [t, logits] of perPosition.entries()) all.set(logits, t * logits.length);
    return all;
  } finally {
    model.dispose();
  }
}

/** ‖values − truth‖ / ‖truth‖ */
export function relativeError(values, truth) {
  if (values.length !== truth.length)
    throw new Error(`there are ${values.length} logits instead of ${truth.length}`);
  let [difference, size] = [0, 0];
  for (let i = 0; i < truth.length; i++) {
    difference += (values[i] - truth[i]) ** 2;
    size += truth[i] ** 2;
  }
  return Math.sqrt(difference / size);
}
