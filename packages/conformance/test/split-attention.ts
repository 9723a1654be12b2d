import {
  bf16ToF32,
  coreOps,
  elements,
  f16ToF32,
  f32ToBf16,
  type Kernel,
  type KernelMemory,
  type KernelOperands,
  type Numbers,
} from '@quern/core';

const memory = (operand: KernelOperands[string] | undefined) => operand as KernelMemory;
const toBf16 = (value: number) => bf16ToF32(f32ToBf16(value));

/** A value as two bf16: the nearest, and the nearest of the rest. */
function halvesOf(value: number): readonly [high: number, low: number] {
  const high = toBf16(value);
  return [high, toBf16(value - high)];
}

/** Rows of `width` values, each replaced by three rows one after the other: [high, high, low] or [high, low, high]. */
function tripled({ shape, data }: Numbers, parts: readonly (0 | 1)[]): Numbers {
  const width = shape.at(-1)!;
  const wide = new Float64Array(3 * data.length);
  data.forEach((value, i) => {
    const halves = halvesOf(value);
    const at = Math.floor(i / width) * 3 * width + (i % width);
    parts.forEach((part, n) => (wide[at + n * width] = halves[part]!));
  });
  return { shape: [...shape.slice(0, -1), 3 * width], data: wide };
}

const numbersOf = (operand: KernelMemory): Numbers => {
  const { shape, dtype } = operand;
  const values = elements(operand);
  return { shape, data: dtype === 'f16' ? Float64Array.from(values, f16ToF32) : (values as Float32Array) };
};

/** Σ of the high and low parts of the values, in columns of tripled rows. */
function wholeValues(v: Numbers): Numbers {
  const { shape, data } = tripled(v, [0, 1, 1]);
  const width = v.shape.at(-1)!;
  const sums = data.map((value, i) => (i % (3 * width) < width ? value + data[i + width]! : 0));
  return { shape, data: sums };
}

/**
 * Attention as on 16-bit tensor units that keep almost the precision of floats: q and k as two bf16 each, all products but low ·
 * low. Keys of 3 · d elements give these three products in one definition.
 */
export const splitAttention =
  (right: Kernel): Kernel =>
  (given, attributes, outputs) => {
    const { kCache, vCache, q, ...integers } = given;
    const dense = ['f32', 'f16'].includes(memory(kCache).dtype);
    if (!dense || attributes.bf16) return right(given, attributes, outputs);
    const k = numbersOf(memory(kCache));
    if (!k.data.every(Number.isFinite)) return right(given, attributes, outputs); // an infinity has no halves
    const [T, H, d] = memory(q).shape as [number, number, number];
    const y: Numbers = { shape: [T, H, 3 * d], data: new Float64Array(T * H * 3 * d) };
    const bounds = Object.entries(integers).map(([name, operand]) => [name, numbersOf(memory(operand))]);
    const operands: Record<string, Numbers> = {
      ...Object.fromEntries(bounds),
      q: tripled(numbersOf(memory(q)), [0, 0, 1]),
      kCache: tripled(k, [0, 1, 0]),
      vCache: wholeValues(numbersOf(memory(vCache))),
    };
    coreOps.attention.define(operands as never, attributes as never, [y]);
    const to = elements(outputs[0]!) as Float32Array;
    to.forEach((_, i) => (to[i] = y.data[Math.floor(i / d) * 3 * d + (i % d)]!));
  };
