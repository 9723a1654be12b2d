import { logNormalLevels } from './draw.js';
import { RandomWords } from './random-words.js';

/** Channels per outlier channel; large models have one in 500 to 1000 (Dettmers et al. 2022). */
const channelsPerOutlier = 512;

/**
 * Size of each of n outlier channels among D, divided by √(D / n): together a quarter of the sum of squares of all other
 * channels, so that they shape every product and do not rule it. With 0.6, rounding to int8 changed the logits of some
 * seeds by 8 %; with 0.5, by 6 % at most.
 */
const outlierSize = 0.5;

/** Deviation of the logarithm of ordinary norm weights. */
const normSpread = 0.2;
const levels = logNormalLevels(normSpread);

/** A few channels of a vector [width]; the same in all layers. */
export function outlierChannels(width: number, seed: number): ReadonlySet<number> {
  const words = new RandomWords(seed);
  const channels = new Set<number>();
  while (channels.size < Math.ceil(width / channelsPerOutlier)) channels.add(words.below(width));
  return channels;
}

/** Random size of an outlier channel relative to ordinary channels: 8 to 14 for one in 512. */
const outlierOf = (width: number, count: number, words: RandomWords): number =>
  outlierSize * Math.sqrt(width / count) * (1 + words.unit() / 4);

/** Norm weights [width]: log-normal, large at `outliers`, root mean square 1. */
export function normWeights(
  width: number,
  outliers: ReadonlySet<number>,
  words: RandomWords,
): Float32Array<ArrayBuffer> {
  const weights = Float32Array.from({ length: width }, () => levels[words.below(levels.length)]!);
  for (const channel of outliers) weights[channel] = outlierOf(width, outliers.size, words);
  const size = Math.sqrt(weights.reduce((sum, weight) => sum + weight * weight, 0) / width);
  return weights.map((weight) => weight / size);
}

/** Biases [width] of a layer norm: 0, large at `outliers`. */
export function outlierShifts(width: number, outliers: ReadonlySet<number>): Float32Array<ArrayBuffer> {
  const shifts = new Float32Array(width);
  for (const channel of outliers) shifts[channel] = (outlierSize / 2) * Math.sqrt(width / outliers.size);
  return shifts;
}
