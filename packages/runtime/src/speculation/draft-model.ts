import type { Engine } from '../engine/engine.js';
import type { Sequence } from '../engine/sequence.js';
import type { RowOutput } from '../engine/step-output.js';
import { greedy, type TokenChoice } from '../engine/token-choice.js';
import { type Distribution, drawFrom } from '../sampling/distribution.js';
import type { Sampler } from '../sampling/index.js';
import { constrainedChoice } from '../structured/constrained-choice.js';
import type { Constraint } from '../structured/constraint.js';
import type { LengthChoice } from './draft-length.js';
import { type Draft, type Drafter, noDraft } from './drafter.js';

export interface DraftModelParts {
  readonly engine: Engine;
  readonly sequence: Sequence;
  /** Most tokens in the sequence. */
  readonly room: number;
  /** The generation's sampler: drafts use its options and random numbers. Absent: drafts are the likeliest tokens. */
  readonly sampler: Sampler | undefined;
  /** The generation's: drafts are among the tokens that it allows. */
  readonly constraint: Constraint | undefined;
  readonly length: LengthChoice;
  readonly maxDraft: number;
  readonly signal: AbortSignal | undefined;
}

const noStops = new Int32Array(0);

/** Drafts with a smaller model. Its sequence keeps the common prefix with the history from draft to draft. */
export class DraftModel implements Drafter {
  constructor(private readonly parts: DraftModelParts) {}

  async draft(history: readonly number[], most: number, calls = 1): Promise<Draft> {
    const { length, maxDraft, room, sampler } = this.parts;
    const count = length.choose(Math.min(most, maxDraft, room - history.length), calls);
    if (count === 0) return noDraft;
    const missing = this.keepCommon(history);
    const constraint = this.parts.constraint?.fork();
    if (sampler) return this.sampled(missing, count, sampler, constraint);
    return this.likeliest(missing, count, constraint ? constrainedChoice(greedy, constraint) : greedy);
  }

  learn(drafted: number, accepted: number): void {
    this.parts.length.learn(drafted, accepted);
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

  private async likeliest(missing: readonly number[], count: number, choice: TokenChoice): Promise<Draft> {
    const tokens: number[] = [];
    for (let next = missing; tokens.length < count; next = tokens.slice(-1))
      tokens.push(...(await this.follow(next, choice, count - tokens.length)));
    return { tokens };
  }

  private async sampled(
    missing: readonly number[],
    count: number,
    sampler: Sampler,
    constraint: Constraint | undefined,
  ): Promise<Draft> {
    const tokens: number[] = [];
    const proposals: Distribution[] = [];
    const take = ({ logits }: RowOutput): number => {
      const proposal = sampler.distribution(constraint?.masked(logits!) ?? logits!, tokens);
      proposals.push(proposal);
      return drawFrom(proposal, sampler.nextRandom());
    };
    const choice: TokenChoice = { head: 'ranked', take, accept: (token) => constraint?.accept(token) };
    for (let next = missing; tokens.length < count; next = tokens.slice(-1)) {
      await constraint?.masksInTurns([], this.parts.signal); // then `take` has the mask at hand
      tokens.push(...(await this.follow(next, choice, 1)));
    }
    return { tokens, proposals };
  }

  /** Appends `ids`; gives up to `most` tokens after them, accepted by `choice`. */
  private async follow(
    ids: readonly number[],
    choice: TokenChoice,
    most: number,
  ): Promise<readonly number[]> {
    const { engine, sequence, signal } = this.parts;
    const found = await engine.decode({ sequence, ids, choice, most, stops: noStops, signal });
    for (const token of found) choice.accept(token);
    return found;
  }
}
