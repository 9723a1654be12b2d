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
  /** Most tokens in the lease. */
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

/** Drafts with a smaller model. Its lease keeps the common prefix with the history from draft to draft. */
export class DraftModel implements Drafter {
  private drafted = 0;

  constructor(private readonly parts: DraftModelParts) {}

  async draft(history: readonly number[], most: number): Promise<Draft> {
    const { length, maxDraft, room, sampler } = this.parts;
    const count = length.choose(Math.min(most, maxDraft, room - history.length));
    this.drafted = count;
    if (count === 0) return noDraft;
    const missing = this.keepCommon(history);
    return sampler ? this.sampled(missing, count, sampler) : this.likeliest(missing, count);
  }

  learn(accepted: number): void {
    this.parts.length.learn(this.drafted, accepted);
  }

  close(): void {
    this.parts.engine.release(this.parts.lease);
  }

  /** Truncates the lease to its common prefix with `history`; returns the rest of `history`, at least one token. */
  private keepCommon(history: readonly number[]): readonly number[] {
    const { lease } = this.parts;
    const most = Math.min(lease.tokens.length, history.length - 1);
    let common = 0;
    while (common < most && lease.tokens[common] === history[common]) common++;
    lease.truncate(common);
    return history.slice(common);
  }

  private async likeliest(missing: readonly number[], count: number): Promise<Draft> {
    const { engine, lease, signal } = this.parts;
    const tokens = [await this.follow(missing, 'argmax', ({ best }) => best[0]!)];
    while (tokens.length < count) {
      const most = count - tokens.length;
      const request = { lease, ids: tokens.slice(-1), choice: greedy, most, stops: noStops, signal };
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
    const { engine, lease, signal } = this.parts;
    if (tokens.length <= fewTokens)
      return engine.compute(lease, tokens, head, (rows) => take(rows.at(-1)!), signal);
    const choice: TokenChoice = { head: head === 'argmax' ? 'argmax' : 'ranked', take, accept() {} };
    return engine.prefill(lease, tokens, choice, { signal });
  }
}
