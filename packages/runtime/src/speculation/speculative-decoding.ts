import type { Engine } from '../engine/engine.js';
import type { Lease } from '../engine/lease.js';
import type { RowOutput } from '../engine/step-output.js';
import type { TokenChoice } from '../engine/token-choice.js';
import type { Decoding } from '../generation/decoding.js';
import { acceptOrRedraw } from '../sampling/distribution.js';
import type { Draft, Drafter } from './drafter.js';

export interface SpeculativeParts {
  readonly engine: Engine;
  readonly lease: Lease;
  readonly choice: TokenChoice;
  readonly drafter: Drafter;
  /** For tokens without a draft. */
  readonly plain: Decoding;
  readonly prompt: readonly number[];
  readonly signal: AbortSignal | undefined;
}

/**
 * Drafts tokens and checks them in one step. Tokens that the model itself would choose are kept; the first other token
 * is replaced by the model's choice. So each step gives at least one token. A step has at most `exactRows` rows: a
 * longer draft is checked in further steps, as long as all tokens were right.
 */
export class SpeculativeDecoding implements Decoding {
  drafted = 0;
  accepted = 0;
  private readonly history: number[];

  constructor(private readonly parts: SpeculativeParts) {
    this.history = [...parts.prompt];
  }

  async next(last: number, most: number): Promise<readonly number[]> {
    const { history, parts } = this;
    history.push(last);
    const draft = most > 1 ? await parts.drafter.draft(history, most - 1) : undefined;
    const found = draft?.tokens.length ? await this.verify(last, draft) : await parts.plain.next(last, most);
    history.push(...found.slice(0, -1));
    return found;
  }

  close(): void {
    this.parts.drafter.close();
  }

  private async verify(last: number, draft: Draft): Promise<readonly number[]> {
    const { lease, drafter } = this.parts;
    const before = lease.tokens.length;
    const found: number[] = [];
    try {
      await this.check([last, ...draft.tokens], draft, found);
    } catch (error) {
      lease.truncate(before);
      throw error;
    }
    lease.truncate(before + found.length); // keeps the last token and the accepted drafts
    this.drafted += draft.tokens.length;
    this.accepted += found.length - 1;
    drafter.learn(found.length - 1);
    return found;
  }

  /**
   * Computes `rows` (the last token and the drafts) up to the first wrong draft; appends the model's tokens to `found`.
   */
  private async check(rows: readonly number[], draft: Draft, found: number[]): Promise<void> {
    const { engine, lease, choice, signal } = this.parts;
    const head = choice.sampler ? 'logits' : 'argmax';
    const most = engine.exactRows;
    for (let at = 0; at < rows.length; at += most) {
      const some = rows.slice(at, at + most);
      const take = (outputs: readonly RowOutput[]) => this.choose(outputs, draft, found);
      if (!(await engine.compute(lease, some, head, take, signal))) return;
    }
  }

  /** Appends the model's tokens of the next rows, up to the first wrong draft; false where a draft is wrong. */
  private choose(rows: readonly RowOutput[], draft: Draft, found: number[]): boolean {
    for (const row of rows) {
      const at = found.length;
      const token = this.tokenAt(row, at, draft);
      this.parts.choice.accept(token);
      found.push(token);
      if (token !== draft.tokens[at]) return false;
    }
    return true;
  }

  /**
   * A draft token without a proposal distribution is accepted only if the model's own choice, drawn as usual, is equal.
   */
  private tokenAt({ best, logits }: RowOutput, at: number, { tokens, proposals }: Draft): number {
    const { sampler } = this.parts.choice;
    if (!sampler) return best[0]!;
    const proposal = proposals?.[at];
    if (!proposal) return sampler.sample(logits!);
    const wanted = sampler.distribution(logits!);
    return acceptOrRedraw(wanted, proposal, tokens[at]!, () => sampler.nextRandom());
  }
}
