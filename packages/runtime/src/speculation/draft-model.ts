import type { Engine } from '../engine/engine.js';
import { noStops } from '../engine/request.js';
import { forDrafts, type SampledToken, type SamplingParams } from '../engine/sampling/params.js';
import type { Sequence } from '../engine/sequence.js';
import type { LengthChoice } from './draft-length.js';
import { type Draft, type Drafter, noDraft } from './drafter.js';

export interface DraftModelParts {
  readonly engine: Engine;
  readonly sequence: Sequence;
  /** Most tokens in the sequence. */
  readonly room: number;
  /** The generation's: drafts are drawn in the same way, with its random numbers, among the tokens that it allows. */
  readonly sampling: SamplingParams;
  readonly length: LengthChoice;
  readonly maxDraft: number;
  readonly signal: AbortSignal | undefined;
}

/** Drafts with a smaller model. Its sequence keeps the common prefix with the history from draft to draft. */
export class DraftModel implements Drafter {
  constructor(private readonly parts: DraftModelParts) {}

  async draft(history: readonly number[], most: number, calls = 1): Promise<Draft> {
    const { engine, sequence, length, maxDraft, room, signal } = this.parts;
    const count = length.choose(Math.min(most, maxDraft, room - history.length), calls);
    if (count === 0) return noDraft;
    const sampling = forDrafts(this.parts.sampling);
    const found: SampledToken[] = [];
    for (let ids = this.keepCommon(history); found.length < count; ids = [found.at(-1)!.token])
      found.push(
        ...(await engine.decode({
          sequence,
          ids,
          sampling,
          most: count - found.length,
          stops: noStops,
          signal,
        })),
      );
    const tokens = found.map(({ token }) => token);
    return { tokens, proposals: sampling.distributions ? found.map(({ from }) => from!) : undefined };
  }

  learn(drafted: number, accepted: number): void {
    this.parts.length.learn(drafted, accepted);
  }

  cancel(): void {
    this.parts.engine.cancel(this.parts.sequence);
  }

  close(): void {
    this.parts.engine.release(this.parts.sequence);
  }

  /** Truncates the sequence to its common prefix with `history`; returns the rest of `history`, at least one token. */
  private keepCommon(history: readonly number[]): readonly number[] {
    const { sequence } = this.parts;
    const most = Math.min(sequence.tokens.length, history.length - 1);
    let common = 0;
    while (common < most && sequence.tokens[common] === history[common]) common++;
    sequence.truncate(common);
    return history.slice(common);
  }
}
