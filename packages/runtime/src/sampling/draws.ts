import { SamplingError } from './error.js';

/** Draws by the device's op `sample`, with the same tokens as the sampler's. */
export interface Draws {
  /** [4]: temperature, top-k, top-p, ln min-p. */
  readonly settings: Float32Array;
  /**
   * Writes the random words of the next `count` draws, [count, 2], to `words` from index `at` on. Does not consume
   * them.
   */
  peek(words: Int32Array, at: number, count: number): void;
  /**
   * Consumes the next draw, which gave `token`.
   * @throws SamplingError BAD_LOGITS where the device could draw no token
   */
  take(token: number): number;
}

/** Settings that take the likeliest token (top-k 1), or `noToken`; temperature 0 would find a token even among NaN. */
export const likeliest = Float32Array.of(1, 1, 1, Number.NEGATIVE_INFINITY);

/** The device's token for a row where no token can be drawn. */
export const noToken = -1;

/** @throws SamplingError BAD_LOGITS where the device could draw no token */
export function needToken(token: number): void {
  if (token !== noToken) return;
  throw new SamplingError(
    'BAD_LOGITS',
    'no logit is above -Infinity, or one is Infinity: the model or its computation is broken',
  );
}
