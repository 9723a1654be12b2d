import type { Decoding, DecodingParts } from '../generation/decoding.js';
import type { Constraint } from './constraint.js';

/** One chosen token at a time; tokens that must come next are not chosen, and computed together. */
export class ConstrainedDecoding implements Decoding {
  readonly drafted = 0;
  readonly accepted = 0;

  constructor(
    private readonly parts: DecodingParts,
    private readonly constraint: Constraint,
  ) {}

  async next(last: number, most: number): Promise<readonly number[]> {
    const { engine, lease, choice, stops, signal } = this.parts;
    const forced = this.constraint.takeForced(most - 1);
    const ids = [last, ...forced];
    const [token] = await engine.decode({ lease, ids, choice, most: 1, stops, signal });
    const found = [...forced, token!];
    for (const next of found) choice.accept(next);
    return found;
  }

  close(): void {}
}
