import type { EncoderConfig } from '@quern/models';
import { batchRows } from '../engine/batch.js';
import type { PlannedModel } from './planner-device.js';

/**
 * Upper bound for the bytes of a step of `rows` rows, besides weights and cache: residual stream with norms and copies,
 * projections of attention and feed-forward as f32, logits of the rows of `decoding` sequences, and the sampler's
 * copies of one row. `decoding` is 0 where another backend computes the logits.
 */
export function activationBytes(
  { config }: Pick<PlannedModel, 'config'>,
  rows: number,
  decoding: number,
): number {
  const { width, heads, kvHeads, headDim, vocabulary } = config;
  const perRow = 6 * width + 2 * (heads + 2 * kvHeads) * headDim + innerFloats(config);
  const logits = 4 * Math.min(decoding, batchRows(rows)) * vocabulary;
  return 4 * rows * perRow + logits + (decoding === 0 ? 0 : samplingBytes({ config }));
}

/** States of fixed size in the cache of a model that keeps such: two of each sequence, or fewer of many, and those of prefixes. */
export const statesFor = (sequences: number): number => sequences + Math.min(sequences, 14) + 2;

/** Bytes of the sampler, in host memory: three copies of one row's logits. */
export const samplingBytes = ({ config }: Pick<PlannedModel, 'config'>): number => 3 * 4 * config.vocabulary;

/** Floats per row of the widest feed-forward: gate, up and their product. A chosen expert adds its input and output. */
function innerFloats({ width, feedForward, mixture }: PlannedModel['config']): number {
  if (!mixture) return 3 * feedForward;
  const { experts, chosen, feedForward: inner, sharedFeedForward: shared = 0 } = mixture;
  return Math.max(3 * feedForward, experts + chosen * (3 * inner + 2 * width) + 3 * shared);
}

/** The same bound for an encoder step, which has no logits. */
export function encoderActivationBytes(config: EncoderConfig, rows: number): number {
  return 4 * rows * (10 * config.width + 3 * config.feedForward);
}

/** For messages: 1536000000 → '1.54 GB'. */
export function showBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  const unit = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** unit;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toPrecision(3)} ${units[unit]}`;
}
