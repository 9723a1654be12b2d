import { elementCount } from '@quern/core';
import { type ResolvedWeight, resolveWeights } from '../weights/resolve-weights.js';
import { tiedOutput, unreadTensors } from '../weights/unread-tensors.js';
import { storedBytes } from '../weights/weight-file.js';
import type { SpeechFile } from './open.js';
import { decoderWeights, encoderWeights } from './weights.js';

/** A speech model's costs. */
export interface SpeechDescription {
  /** Elements of all weights. */
  readonly parameters: number;
  /** Bytes of weights, as stored in the file, that one decoded token reads. */
  readonly bytesPerToken: number;
  /** Tensors of the file that the model does not read. */
  readonly unread: readonly string[];
}

/**
 * Decoder fields that a token does not read: the cross projections ran once per window; of the positions it reads one
 * row.
 */
const readOnce: ReadonlySet<string> = new Set(['crossK', 'crossV', 'crossVBias', 'positions']);

/** @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT. */
export function describeSpeech({ path, config, weights }: SpeechFile): SpeechDescription {
  const decoder = resolveWeights(decoderWeights, config.decoder, weights);
  const all = [...resolveWeights(encoderWeights, config.encoder, weights), ...decoder];
  const sum = (some: readonly ResolvedWeight[], of: (weight: ResolvedWeight) => number) =>
    some.reduce((total, weight) => total + of(weight), 0);
  return {
    unread: unreadTensors({ path, weights, resolved: all }, tiedOutput),
    parameters: sum(all, ({ tensor }) => elementCount(tensor.shape)),
    bytesPerToken: sum(
      decoder.filter(({ field }) => !readOnce.has(field)),
      ({ tensor }) => storedBytes(tensor),
    ),
  };
}
