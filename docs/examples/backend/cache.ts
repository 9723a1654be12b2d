import {
  BackendError,
  elements,
  f16ToF32,
  f32ToF16,
  type Kernel,
  type KernelMemory,
  type KernelWeight,
} from '@quern/core';
import { floats, integers } from './operands.js';

/** A cache buffer [blocks, blockSize, Hk, d]. One token has `width` = Hk · d elements. */
export interface Cache {
  readonly blocks: number;
  readonly blockSize: number;
  readonly width: number;
  /** The buffer's elements: f32, or bit patterns of f16. */
  readonly values: Float32Array | Uint16Array;
}

export function cacheOf(operand: KernelMemory | KernelWeight): Cache {
  const [blocks, blockSize, Hk, d] = operand.shape as [number, number, number, number];
  const values = elements(operand as KernelMemory) as Float32Array | Uint16Array;
  return { blocks, blockSize, width: Hk * d, values };
}

/** The first `length` tokens of a sequence as f32, by position: [length, Hk · d]. */
export function gather(cache: Cache, blockTable: Int32Array, length: number): Float32Array {
  const { blockSize, width, values } = cache;
  const rows = new Float32Array(length * width);
  for (let position = 0; position < length; position += blockSize) {
    const from = blockTable[position / blockSize]! * blockSize * width;
    const part = values.subarray(from, from + Math.min(blockSize, length - position) * width);
    rows.set(part instanceof Uint16Array ? Float32Array.from(part, f16ToF32) : part, position * width);
  }
  return rows;
}

/** Row t of k and v [T, Hk, d] goes to slot slots[t] = block · blockSize + offset; −1 skips the row. */
export const kvAppend: Kernel = ({ k, v, slots, kCache, vCache }) => {
  const places = integers(slots!);
  const [keys, values] = [cacheOf(kCache!), cacheOf(vCache!)];
  const end = keys.blocks * keys.blockSize;
  const wrong = places.find((slot) => slot < -1 || slot >= end);
  if (wrong !== undefined)
    throw new BackendError('OUT_OF_RANGE', `[kvAppend] slot ${wrong} was asked for, but there are ${end}`);
  store(floats(k!), places, keys);
  store(floats(v!), places, values);
};

function store(rows: Float32Array, slots: Int32Array, { width, values }: Cache): void {
  slots.forEach((slot, t) => {
    if (slot < 0) return;
    const row = rows.subarray(t * width, (t + 1) * width);
    values.set(values instanceof Uint16Array ? Uint16Array.from(row, f32ToF16) : row, slot * width);
  });
}
