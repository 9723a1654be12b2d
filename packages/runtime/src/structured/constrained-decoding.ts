import type { Decoding, DecodingParts } from '../generation/decoding.js';
import type { Constraint } from './constraint.js';

/** One chosen token at a time. Tokens that must come next are not chosen: they are computed with the token before. */
export class ConstrainedDecoding implements Decoding {
  readonly drafted = 0;
  readonly accepted = 0;

  constructor(
    private readonly parts: DecodingParts,
    private readonly constraint: Constraint,
    /** False: every token is chosen, because its log-probability is wanted. */
    private readonly forces: boolean,
  ) {}

  async next(last: number, most: number): Promise<readonly number[]> {
    const { engine, lease, choice, stops, signal } = this.parts;
    const forced = this.forces ? this.constraint.takeForced(most - 1) : [];
    const ids = [last, ...forced];
    const [token] = await engine.decode({ lease, ids, choice, most: 1, stops, signal });
    const found = [...forced, token!];
    for (const next of found) choice.accept(next);
    return found;
  }

  close(): void {}
}
