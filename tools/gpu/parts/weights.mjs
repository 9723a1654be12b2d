// Random weights of any format, in memory.
import { byteLength, encode } from '@quern/quant';

/** Values of standard deviation 1 / √K: sums of four uniform numbers. */
function drawn(count, K) {
  let state = 1;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  const deviation = Math.sqrt(3 / K);
  return Float32Array.from(
    { length: count },
    () => deviation * (uniform() + uniform() + uniform() + uniform()),
  );
}

const rowsOfPool = 16;

/** Bytes of a matrix [N, K]: the same 16 rows again and again. The time of a product does not depend on the values. */
function bytesOf(format, [N, K]) {
  const rows = Math.min(rowsOfPool, N);
  const bytes = new Uint8Array(byteLength(format, [N, K]));
  const first = byteLength(format, [rows, K]);
  encode(format, drawn(rows * K, K), 0, bytes, 0, rows * K);
  for (let at = first; at < bytes.length; at *= 2) bytes.copyWithin(at, 0, Math.min(at, bytes.length - at));
  return bytes;
}

/** Loads as many copies as `bytesWanted` holds, at least one: more than caches hold. */
export async function loadCopies(backend, format, shape, bytesWanted) {
  const bytes = bytesOf(format, shape);
  const copies = Math.min(64, Math.max(1, Math.ceil(bytesWanted / bytes.length)));
  const weights = [];
  for (let i = 0; i < copies; i++)
    weights.push(await backend.loadWeight({ name: `${format} ${i}`, shape, format, bytes }));
  return weights;
}

/** A vector [n] of ones. */
export const loadOnes = (backend, n) =>
  backend.loadWeight({
    name: 'ones',
    shape: [n],
    format: 'f32',
    bytes: new Uint8Array(new Float32Array(n).fill(1).buffer),
  });
