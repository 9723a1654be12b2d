/** Random numbers in [0, 1) that a seed repeats: mulberry32. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A number of tokens, drawn for each request. */
export type Length = (random: () => number) => number;

/**
 * '64': always 64. '64-512': uniform. '128~0.6': log-normal, with median 128 and 0.6 as the deviation of the logarithm.
 * Undefined for any other text.
 */
export function parseLength(text: string): Length | undefined {
  const [, first, kind, second] = /^(\d+)(?:([-~])(\d+(?:\.\d+)?))?$/.exec(text.trim()) ?? [];
  const [a, b] = [Number(first), Number(second)];
  if (first === undefined || a < 1) return undefined;
  if (kind === undefined) return () => a;
  if (kind === '~') return (random) => Math.max(1, Math.round(a * Math.exp(b * normal(random))));
  return b >= a ? (random) => a + Math.floor(random() * (b - a + 1)) : undefined;
}

/** Box and Muller 1958. */
const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Milliseconds until the next arrival, at `rate` per second: exponential, so the arrivals are a Poisson process. */
export const nextArrival = (rate: number, random: () => number): number =>
  (-1000 * Math.log(1 - random())) / rate;

const words = (
  'the of and to in is was for it with as his on be at by had not are but from or have an they which one you ' +
  'were her all she there would their we him been has when who will more no if out so said what up its about'
).split(' ');

/** About `tokens` tokens of text: common words are one token each in most vocabularies. */
export const textOf = (tokens: number, random: () => number): string =>
  Array.from({ length: tokens }, () => words[Math.floor(random() * words.length)]!).join(' ');
