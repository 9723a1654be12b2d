// A decoder in plain numbers, token by token, in float64: a second, independent implementation. Parameters have Hugging
// Face names.

export type Vector = readonly number[];
export type Parameters = ReadonlyMap<
  string,
  { readonly shape: readonly number[]; readonly values: Float32Array }
>;

export const add = (a: Vector, b: Vector): number[] => a.map((value, i) => value + b[i]!);
export const dot = (a: Vector, b: Vector): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

/** Row r of a parameter; a vector has only row 0. */
export function row(parameters: Parameters, name: string, r = 0): number[] {
  const { shape, values } = parameters.get(name)!;
  const length = shape.at(-1)!;
  return Array.from(values.subarray(r * length, (r + 1) * length));
}

/** W x. */
export const times = (parameters: Parameters, name: string, x: Vector): number[] =>
  Array.from({ length: parameters.get(name)!.shape[0]! }, (_, r) => dot(row(parameters, name, r), x));

/** x / √(mean x² + eps) · w. */
export function rmsNorm(x: Vector, w: Vector, eps: number): number[] {
  const divisor = Math.sqrt(dot(x, x) / x.length + eps);
  return x.map((value, i) => (value / divisor) * w[i]!);
}

export const silu = (x: number): number => x / (1 + Math.exp(-x));
export const geluTanh = (x: number): number =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

export interface Rotation {
  readonly theta: number;
  /** Elements of a head that rotate. */
  readonly elements: number;
  /** Divisors of the frequencies; absent: 1. */
  readonly divisors?: Vector;
  /** Factor on cos and sin; absent: 1. */
  readonly magnitude?: number;
}

/** Rotates a head at a position: element i pairs with element i + R / 2; elements from R on stay. */
export function rotate(
  head: Vector,
  position: number,
  { theta, elements, divisors, magnitude = 1 }: Rotation,
) {
  const half = elements / 2;
  return head.map((value, i) => {
    if (i >= elements) return value;
    const pair = i % half;
    const angle = (position * theta ** (-pair / half)) / (divisors?.[pair] ?? 1);
    const other = i < half ? -head[i + half]! : head[i - half]!;
    return magnitude * (value * Math.cos(angle) + other * Math.sin(angle));
  });
}

export interface Scores {
  readonly scale: number;
  /** Visible positions, including the own one; 0: all. */
  readonly window: number;
  /** Soft cap: cap · tanh(score / cap); absent: none. */
  readonly cap?: number;
}

/** One query head at the last position, over all cached keys and values of its kv head. */
export function attend(
  q: Vector,
  keys: readonly Vector[],
  values: readonly Vector[],
  options: Scores,
): number[] {
  const { scale, window, cap } = options;
  const first = window > 0 ? Math.max(0, keys.length - window) : 0;
  const scores = keys.slice(first).map((key) => scale * dot(q, key));
  const weights = scores.map((score) => Math.exp(cap ? cap * Math.tanh(score / cap) : score));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return q.map((_, i) =>
    weights.reduce((sum, weight, s) => sum + (weight / total) * values[first + s]![i]!, 0),
  );
}

/** A vector split into heads of d elements. */
export const headsOf = (x: Vector, d: number): number[][] =>
  Array.from({ length: x.length / d }, (_, h) => x.slice(h * d, (h + 1) * d));

/** Keys and values of one layer: [position][kv head][element]. */
export interface LayerCache {
  readonly keys: number[][][];
  readonly values: number[][][];
}

export const emptyCaches = (layers: number): LayerCache[] =>
  Array.from({ length: layers }, () => ({ keys: [], values: [] }));

/** All heads of q at the last position of a layer's cache, concatenated. */
export const attendAll = (q: readonly Vector[], { keys, values }: LayerCache, options: Scores): number[] =>
  q.flatMap((head, h) => {
    const shared = Math.floor((h * keys[0]!.length) / q.length);
    return attend(
      head,
      keys.map((heads) => heads[shared]!),
      values.map((heads) => heads[shared]!),
      options,
    );
  });
