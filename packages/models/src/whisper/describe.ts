import { elementCount } from '@quern/core';
import { type ResolvedWeight, resolveWeights } from '../weights/resolve-weights.js';
import { storedBytes } from '../weights/weight-file.js';
import type { SpeechFile } from './open.js';
import { decoderWeights, encoderWeights } from './weights.js';

/** What a speech model asks of a machine. */
export interface SpeechDescription {
  /** Elements of all weights. */
  readonly parameters: number;
  /** Bytes of the weights, as they lie in the file, that one written token reads. */
  readonly bytesPerToken: number;
}

/** Fields of the decoder that a token does not read: they made the keys and values of the sound; of positions it reads a row. */
const unread: ReadonlySet<string> = new Set(['crossK', 'crossV', 'crossVBias', 'positions']);

/** @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT. */
export function describeSpeech({ config, weights }: SpeechFile): SpeechDescription {
  const decoder = resolveWeights(decoderWeights, config.decoder, weights);
  const all = [...resolveWeights(encoderWeights, config.encoder, weights), ...decoder];
  const sum = (some: readonly ResolvedWeight[], of: (weight: ResolvedWeight) => number) =>
    some.reduce((total, weight) => total + of(weight), 0);
  return {
    parameters: sum(all, ({ tensor }) => elementCount(tensor.shape)),
    bytesPerToken: sum(
      decoder.filter(({ field }) => !unread.has(field)),
      ({ tensor }) => storedBytes(tensor),
    ),
  };
}
