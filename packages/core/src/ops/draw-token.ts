import { outOfRange } from '../op/check.js';

const noToken = -1;

/** Sampling settings of one row. */
export interface DrawSettings {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly logMinP: number;
}

/** The settings of row `s`. Throws OUT_OF_RANGE. */
export function settingsOf(data: ArrayLike<number>, s: number): DrawSettings {
  const [temperature, topK, topP, logMinP] = [0, 1, 2, 3].map((i) => data[4 * s + i]!) as [
    number,
    number,
    number,
    number,
  ];
  const holds =
    temperature >= 0 &&
    temperature < Infinity &&
    topK >= 0 &&
    Number.isInteger(topK) &&
    topP >= 0 &&
    topP <= 1 &&
    logMinP <= 0;
  if (!holds)
    throw outOfRange(
      'sample',
      `settings[${s}] must be a finite temperature from 0, a whole topK from 0, topP from 0 to 1, and a logarithm up to 0; ` +
        `got ${temperature}, ${topK}, ${topP}, ${logMinP}`,
    );
  return { temperature, topK, topP, logMinP };
}

/** Two random words of 32 bits as a number in [0, 1) with 53 bits. */
export const uniform = (high: number, low: number): number =>
  ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;

/**
 * Zone around an edge in which both sides are right. `probability`: distance of u from the edge between two tokens, and
 * of top-p's sum from top-p, as a share of the total probability. `logit`: distance of a logit from the min-p bound, in
 * units of |largest| + |ln min-p|.
 */
export interface Zone {
  readonly probability: number;
  readonly logit: number;
}

/** Precision of f32: exponentials within a few ulp, sums by trees. */
export const roundingZone: Zone = { probability: 2 ** -16, logit: 2 ** -22 };

const noZone: Zone = { probability: 0, logit: 0 };

const sumOf = (weights: readonly number[]) => weights.reduce((sum, weight) => sum + weight, 0);

/** Indices of the elements ≥ `bound`. */
function atLeast(x: ArrayLike<number>, bound: number): number[] {
  const found: number[] = [];
  for (let i = 0; i < x.length; i++) if (x[i]! >= bound && x[i]! > -Infinity) found.push(i);
  return found;
}

/** Distances below the largest logit, tried in turn by the search for the tokens of top-k and top-p. */
const reaches = [4, 8, 16, 32, Infinity];

/** Σ exp(x − highest) of `tokens`. */
function massOf(x: ArrayLike<number>, highest: number, tokens: readonly number[]): number {
  let sum = 0;
  for (const i of tokens) sum += Math.exp(x[i]! - highest);
  return sum;
}

/** The first tokens in falling order, ties by index: topK tokens, or (topK = 0) enough tokens for a sum of `mass`. */
function ranked(x: ArrayLike<number>, highest: number, topK: number, mass: number): number[] {
  for (const reach of reaches) {
    const near = atLeast(x, highest - reach);
    const enough = topK > 0 ? near.length >= topK : massOf(x, highest, near) >= mass;
    if (enough || reach === Infinity)
      return near.sort((i, j) => x[j]! - x[i]! || i - j).slice(0, topK || undefined);
  }
  return [];
}

/**
 * Number of `tokens` that top-p keeps: the fewest that reach it, at least one. With a zone: all counts that may be
 * right.
 */
function nucleusCounts(
  tokens: readonly number[],
  x: ArrayLike<number>,
  highest: number,
  wanted: number,
  slack: number,
): number[] {
  const counts: number[] = [];
  let sum = 0;
  for (let i = 0; i < tokens.length; i++) {
    sum += Math.exp(x[tokens[i]!]! - highest);
    if (sum >= wanted - slack) counts.push(i + 1);
    if (sum >= wanted + slack) return counts;
  }
  return counts.includes(tokens.length) ? counts : [...counts, tokens.length];
}

/** The bounds of min-p that give different tokens: the bound, and each logit in the zone. */
function minPBounds(x: ArrayLike<number>, highest: number, logMinP: number, zone: Zone): number[] {
  const bound = highest + logMinP;
  if (zone.logit === 0 || bound === -Infinity) return [bound];
  const slack = zone.logit * (Math.abs(highest) + Math.abs(logMinP));
  const within = Array.from(x).filter((value) => Math.abs(value - bound) <= slack && value < highest);
  return [...new Set(within), Math.min(bound + slack, highest)];
}

/** The tokens after all filters, in drawing order. With a zone: all lists that may be right. */
function keptLists(x: ArrayLike<number>, highest: number, settings: DrawSettings, zone: Zone): number[][] {
  const { topK, topP, logMinP } = settings;
  const bounds = minPBounds(x, highest, logMinP, zone);
  if (topK === 0 && topP === 1) return bounds.map((bound) => atLeast(x, bound));
  const all = topK > 0 ? 0 : massOf(x, highest, atLeast(x, -Infinity));
  const tokens = ranked(x, highest, topK, all * (topP + zone.probability));
  const mass = topK > 0 ? massOf(x, highest, tokens) : all;
  const counts =
    topP < 1 ? nucleusCounts(tokens, x, highest, topP * mass, zone.probability * mass) : [tokens.length];
  return counts.flatMap((count) =>
    bounds.map((bound) => tokens.slice(0, count).filter((i) => x[i]! >= bound)),
  );
}

/**
 * Draws one of `tokens`, probability proportional to weight. If rounding leaves a remainder: the last token with a
 * weight > 0.
 */
function drawn(tokens: readonly number[], weights: readonly number[], random: number): number {
  let left = random * sumOf(weights);
  let last = 0;
  for (let i = 0; i < tokens.length; i++) {
    if (weights[i]! > 0) last = i;
    left -= weights[i]!;
    if (left < 0) break;
  }
  return tokens[last]!;
}

/** The tokens whose part of [0, 1) overlaps the zone around `random`. */
function drawnNear(
  tokens: readonly number[],
  weights: readonly number[],
  random: number,
  zone: Zone,
): number[] {
  const all = sumOf(weights);
  const [from, to] = [(random - zone.probability) * all, (random + zone.probability) * all];
  let begin = 0;
  return tokens.filter((_, i) => {
    const end = begin + weights[i]!;
    const touches = weights[i]! > 0 && begin < to && end > from;
    begin = end;
    return touches;
  });
}

function likeliest(x: ArrayLike<number>): number {
  let best = 0;
  let highest = -Infinity;
  for (let i = 0; i < x.length; i++) if (x[i]! > highest) [best, highest] = [i, x[i]!];
  return best;
}

/** Weights of tokens before division by their sum. */
const weightsOf = (
  x: ArrayLike<number>,
  highest: number,
  temperature: number,
  tokens: readonly number[],
): number[] => tokens.map((i) => Math.exp((x[i]! - highest) / temperature));

/** Token of a row of logits [V], or −1. */
export function drawToken(x: ArrayLike<number>, settings: DrawSettings, random: number): number {
  const best = likeliest(x);
  if (settings.temperature === 0) return best;
  const highest = x[best]!;
  if (!Number.isFinite(highest)) return noToken;
  const tokens = keptLists(x, highest, settings, noZone)[0]!;
  return drawn(tokens, weightsOf(x, highest, settings.temperature, tokens), random);
}

/** All right tokens: the result of `drawToken`, and the tokens across an edge within the zone. */
export function rightTokens(
  x: ArrayLike<number>,
  settings: DrawSettings,
  random: number,
): ReadonlySet<number> {
  const right = new Set([drawToken(x, settings, random)]);
  const highest = x[likeliest(x)]!;
  if (settings.temperature === 0 || !Number.isFinite(highest)) return right;
  for (const tokens of keptLists(x, highest, settings, roundingZone)) {
    const weights = weightsOf(x, highest, settings.temperature, tokens);
    for (const token of drawnNear(tokens, weights, random, roundingZone)) right.add(token);
  }
  return right;
}
