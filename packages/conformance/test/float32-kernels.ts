import { elements, type Kernel, type KernelMemory } from '@quern/core';

// Kernels of a device without float64: floats are f32, integers are exact. BigInt stands for several 32-bit words of a
// device.

const f32 = Math.fround;
const valuesOf = (operand: unknown) => elements(operand as KernelMemory) as Float32Array | Int32Array;

/** 2¹⁶⁰ / 2π; a product with 55 bits needs 96 bits after the binary point. */
const turnsPerUnit = 0xa2f9836e4e441529fc2757d1f534ddc0db629599n >> 2n;

/** A positive f32 as whole · 2^exponent. */
function partsOf(value: number): { readonly whole: bigint; readonly exponent: number } {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0]!;
  const biased = bits >>> 23;
  const fraction = bits & 0x7fffff;
  return { whole: BigInt(biased ? fraction | 0x800000 : fraction), exponent: Math.max(biased, 1) - 150 };
}

/** position · frequency modulo 2π, from −π to π: the product and the reduction in integers, one rounding at the end. */
function angleOf(position: number, frequency: number): number {
  const { whole, exponent } = partsOf(frequency);
  const unit = turnsPerUnit >> BigInt(64 - exponent); // turns per 2^exponent, times 2⁹⁶
  const turns = BigInt.asUintN(96, BigInt(position) * whole * unit); // of one turn, times 2⁹⁶
  const signed = Number(BigInt.asIntN(32, turns >> 64n)); // times 2³²
  return f32(f32(signed) * f32((2 * Math.PI) / 2 ** 32));
}

export const ropeTable: Kernel = ({ positions, frequencies }, { magnitude }, [table]) => {
  const [p, f, y] = [valuesOf(positions), valuesOf(frequencies), valuesOf(table)];
  for (let t = 0; t < p.length; t++)
    for (let i = 0; i < f.length; i++) {
      const angle = angleOf(p[t]!, f[i]!);
      y[t * 2 * f.length + i] = f32(f32(Math.cos(angle)) * magnitude!);
      y[t * 2 * f.length + f.length + i] = f32(f32(Math.sin(angle)) * magnitude!);
    }
};

/** Partial sums in a tree, as the threads of a device compute them: sums[i] is the sum of the first i + 1. */
function prefixSums(values: Float32Array): Float32Array {
  const sums = values.slice();
  for (let distance = 1; distance < sums.length; distance *= 2)
    for (let i = sums.length - 1; i >= distance; i--) sums[i] = f32(sums[i]! + sums[i - distance]!);
  return sums;
}

const last = (values: Float32Array): number => values[values.length - 1] ?? 0;

const exponentials = (x: Float32Array, tokens: readonly number[], highest: number, temperature: number) =>
  Float32Array.from(tokens, (i) => Math.exp(f32(f32(x[i]! - highest) / temperature)));

function draw(x: Float32Array, [temperature, topK, topP, logMinP]: Float32Array, random: number): number {
  const possible = [...x.keys()].filter((i) => x[i]! > Number.NEGATIVE_INFINITY);
  const ordered = possible.toSorted((i, j) => x[j]! - x[i]! || i - j);
  if (temperature === 0) return ordered[0] ?? 0;
  const highest = x[ordered[0] ?? 0]!;
  if (!Number.isFinite(highest)) return -1;
  let tokens = topK! > 0 || topP! < 1 ? ordered.slice(0, topK || undefined) : possible;
  if (topP! < 1) {
    const sums = prefixSums(exponentials(x, tokens, highest, 1));
    const wanted = f32(topP! * last(sums));
    tokens = tokens.slice(0, 1 + sums.findIndex((sum) => sum >= wanted));
  }
  tokens = tokens.filter((i) => x[i]! >= f32(highest + logMinP!));
  const weights = exponentials(x, tokens, highest, temperature!);
  const sums = prefixSums(weights);
  const target = f32(random * last(sums));
  const found = tokens.findIndex((_, i) => sums[i]! > target && weights[i]! > 0);
  return tokens[found < 0 ? weights.findLastIndex((weight) => weight > 0) : found]!;
}

/** `right` checks settings and draws, with comparisons only, which f32 can do. */
export const sampleOver =
  (right: Kernel): Kernel =>
  async (given, attributes, outputs) => {
    await right(given, attributes, outputs);
    const [x, settings] = [valuesOf(given.x) as Float32Array, valuesOf(given.settings) as Float32Array];
    const [random, draws, y] = [valuesOf(given.random), valuesOf(given.draws), valuesOf(outputs[0])];
    const V = x.length / Math.max(1, y.length);
    for (let s = 0; s < y.length; s++) {
      const u = f32((random[2 * draws[s]!]! >>> 8) / 2 ** 24);
      y[s] = draw(x.subarray(s * V, (s + 1) * V), settings.subarray(4 * s, 4 * s + 4), u);
    }
  };
