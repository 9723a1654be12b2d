import { SamplingError } from './error.js';

/** Draws by the op `sample` on the device: the same tokens as the sampler draws. */
export interface Draws {
  /** [4]: temperature, top-k, top-p, ln min-p. */
  readonly settings: Float32Array;
  /** Writes the words of the next `count` draws [count, 2] to `words` from index `at` on; it does not use them up. */
  peek(words: Int32Array, at: number, count: number): void;
  /** Uses up the next draw, by which the device has found `token`. @throws SamplingError BAD_LOGITS where it has found none */
  take(token: number): number;
}

/** The device's result for a row where no token can be drawn. */
export const noToken = -1;

/** @throws SamplingError BAD_LOGITS where the device has found no token */
export function needToken(token: number): void {
  if (token !== noToken) return;
  throw new SamplingError(
    'BAD_LOGITS',
    'no logit is above -Infinity, or one is Infinity: the model or its computation is broken',
  );
}
