// Random weights of any format, in memory.
import { f32ToF16 } from '@quern/core';
import { byteLength, encode, iq8 } from '@quern/quant';

/** Numbers from −0.5 to 0.5. */
function uniformNumbers() {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

/** Values of standard deviation 1 / √K: sums of four uniform numbers. */
function drawn(count, K) {
  const uniform = uniformNumbers();
  const deviation = Math.sqrt(3 / K);
  return Float32Array.from(
    { length: count },
    () => deviation * (uniform() + uniform() + uniform() + uniform()),
  );
}

/** Blocks of iq8: a unit, 16 odd scales to 31, 256 whole numbers to ±8. */
function iq8Rows(rows, K) {
  const uniform = uniformNumbers();
  const bytes = new Uint8Array(((rows * K) / iq8.blockSize) * iq8.blockBytes);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < bytes.length; at += iq8.blockBytes) {
    view.setFloat32(at, 0.01 / Math.sqrt(K), true);
    for (let i = 0; i < 16; i++) view.setInt8(at + 4 + i, 16 + 2 * Math.round(14 * uniform()) + 1);
    for (let i = 0; i < 256; i++) view.setInt8(at + 20 + i, Math.round(16 * uniform()));
  }
  return bytes;
}

function encodedRows(format, rows, K) {
  const bytes = new Uint8Array(byteLength(format, [rows, K]));
  encode(format, drawn(rows * K, K), 0, bytes, 0, rows * K);
  return bytes;
}

/** `first` again and again. */
function repeated(first, length) {
  const bytes = new Uint8Array(length);
  bytes.set(first.subarray(0, length));
  for (let at = first.length; at < length; at *= 2) bytes.copyWithin(at, 0, Math.min(at, length - at));
  return bytes;
}

const rowsOfPool = 16;

/** Bytes of a matrix [N, K]: the same 16 rows again and again. The time of a product does not depend on the values. */
function bytesOf(format, [N, K]) {
  const rows = Math.min(rowsOfPool, N);
  const first = format === 'iq8' ? iq8Rows(rows, K) : encodedRows(format, rows, K);
  return repeated(first, (first.length / rows) * N);
}

const group = 128;

/** A matrix [N, K] of GPTQ: 4 bits, groups of 128, zero points in the middle. */
function gptqSource([N, K]) {
  const uniform = uniformNumbers();
  const pool = Uint32Array.from({ length: 4096 }, () => (uniform() + 0.5) * 2 ** 32);
  const scale = f32ToF16(0.2 / Math.sqrt(K));
  return {
    shape: [N, K],
    bits: 4,
    groupSize: group,
    version: 1,
    qweight: repeated(new Uint8Array(pool.buffer), (N * K) / 2),
    qzeros: new Uint8Array(((K / group) * N) / 2).fill(0x77),
    scales: new Uint8Array(new Uint16Array((K / group) * N).fill(scale).buffer),
  };
}

/** 'gptq' or a format of WeightSource: bytes, and how they are loaded. */
function sourceOf(backend, format, shape) {
  if (format === 'gptq') {
    const source = gptqSource(shape);
    return {
      size: source.qweight.length,
      load: (name) => backend.quantGptq.loadWeight({ name, ...source }),
    };
  }
  const bytes = bytesOf(format, shape);
  return { size: bytes.length, load: (name) => backend.loadWeight({ name, shape, format, bytes }) };
}

/** Loads as many copies as `bytesWanted` holds, at least one: more than caches hold. `format`: as of a file, 'iq8' or 'gptq'. */
export async function loadCopies(backend, format, shape, bytesWanted) {
  const { size, load } = sourceOf(backend, format, shape);
  const copies = Math.min(64, Math.max(1, Math.ceil(bytesWanted / size)));
  const weights = [];
  for (let i = 0; i < copies; i++) weights.push(await load(`${format} ${i}`));
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
