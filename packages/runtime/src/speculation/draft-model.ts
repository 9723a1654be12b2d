import type { KvSequence } from '@quern/core';
import type { Engine } from '../engine/engine.js';
import type { Lease } from '../engine/lease.js';
import type { RowOutput } from '../engine/step-output.js';
import { greedy, type TokenChoice } from '../engine/token-choice.js';
import { type Distribution, drawFrom } from '../sampling/distribution.js';
import type { Sampler } from '../sampling/index.js';
import type { LengthChoice } from './draft-length.js';
import { type Draft, type Drafter, noDraft } from './drafter.js';

export interface DraftModelParts {
  readonly engine: Engine;
  readonly lease: Lease;
  /** Most tokens in the sequence. */
  readonly room: number;
  /** The generation's sampler: drafts use its options and random numbers. Absent: drafts are the likeliest tokens. */
  readonly sampler: Sampler | undefined;
  readonly length: LengthChoice;
  readonly maxDraft: number;
  readonly signal: AbortSignal | undefined;
}

/** Up to this many missing tokens run in captured steps; more run as a prompt. */
const fewTokens = 16;

const noStops = new Int32Array(0);

/** Drafts with a smaller model. Its sequence keeps the common prefix with the history from draft to draft. */
export class DraftModel implements Drafter {
  private readonly sequence: KvSequence;
  /** Tokens of the sequence, possibly followed by tokens already truncated. */
  private held: number[] = [];
  private drafted = 0;

  constructor(private readonly parts: DraftModelParts) {
    this.sequence = parts.lease.sequence;
  }

  async draft(history: readonly number[], most: number): Promise<Draft> {
    const { length, maxDraft, room, sampler } = this.parts;
    const count = length.choose(Math.min(most, maxDraft, room - history.length));
    this.drafted = count;
    if (count === 0) return noDraft;
    const missing = this.keepCommon(history);
    const draft = sampler
      ? await this.sampled(missing, count, sampler)
      : await this.likeliest(missing, count);
    this.held = [...history, ...draft.tokens];
    return draft;
  }

  learn(accepted: number): void {
    this.parts.length.learn(this.drafted, accepted);
  }

  close(): void {
    this.parts.lease.release();
  }

  /** Truncates the sequence to its common prefix with `history`; returns the rest of `history`, at least one token. */
  private keepCommon(history: readonly number[]): readonly number[] {
    const most = Math.min(this.sequence.length, history.length - 1);
    let common = 0;
    while (common < most && this.held[common] === history[common]) common++;
    this.sequence.truncate(common);
    return history.slice(common);
  }

  private async likeliest(missing: readonly number[], count: number): Promise<Draft> {
    const { engine, signal } = this.parts;
    const { sequence } = this;
    const tokens = [await this.follow(missing, 'argmax', ({ best }) => best[0]!)];
    while (tokens.length < count) {
      const most = count - tokens.length;
      const request = { sequence, token: tokens.at(-1)!, choice: greedy, most, stops: noStops, signal };
      tokens.push(...(await engine.decode(request)));
    }
    return { tokens };
  }

  private async sampled(missing: readonly number[], count: number, sampler: Sampler): Promise<Draft> {
    const tokens: number[] = [];
    const proposals: Distribution[] = [];
    const take = ({ logits }: RowOutput): number => {
      const proposal = sampler.distribution(logits!, tokens);
      proposals.push(proposal);
      return drawFrom(proposal, sampler.nextRandom());
    };
    for (let next = missing; tokens.length < count; next = tokens.slice(-1))
      tokens.push(await this.follow(next, 'logits', take));
    return { tokens, proposals };
  }

  /** Appends tokens; `take` reads the row of the last one. */
  private follow(
    tokens: readonly number[],
    head: 'argmax' | 'logits',
    take: (row: RowOutput) => number,
  ): Promise<number> {
    const { engine, signal } = this.parts;
    if (tokens.length <= fewTokens)
      return engine.compute(this.sequence, tokens, head, (rows) => take(rows.at(-1)!), signal);
    const choice: TokenChoice = { head: head === 'argmax' ? 'argmax' : 'ranked', take, accept() {} };
    return engine.prefill(this.sequence, tokens, choice, { signal });
  }
}
