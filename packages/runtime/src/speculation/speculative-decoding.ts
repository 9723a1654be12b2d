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
 * Drafts tokens and checks them in steps shared with other calls. Tokens that the model itself would choose are kept;
 * the first other token is replaced by the model's choice. So each step gives at least one token. A step checks at most
 * `exactRows` rows of a call: a longer draft is checked in further steps, as long as all tokens were right.
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
    const { mostDrafts, sharing } = parts.engine;
    const room = Math.min(most - 1, mostDrafts);
    const draft = room > 0 ? await parts.drafter.draft(history, room, sharing) : undefined;
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
      await this.check(last, draft, found);
    } catch (error) {
      lease.truncate(before);
      throw error;
    }
    this.drafted += draft.tokens.length;
    this.accepted += found.length - 1;
    drafter.learn(found.length - 1);
    return found;
  }

  /** Appends the model's tokens after `last` to `found`, up to the first that differs from the draft. */
  private async check(last: number, draft: Draft, found: number[]): Promise<void> {
    const { engine, lease, signal } = this.parts;
    const choice = this.choiceFor(draft, found);
    for (let token = last; ; token = found.at(-1)!) {
      const at = found.length;
      const drafts = draft.tokens.slice(at, at + engine.exactRows - 1);
      const ids = [token, ...drafts];
      await engine.decode({ lease, ids, drafts: drafts.length, choice, most: 1, stops: noStops, signal });
      if (found.at(-1) !== draft.tokens[found.length - 1]) return;
    }
  }

  /** The call's choice; each token counts for the next one. */
  private choiceFor({ tokens, proposals }: Draft, found: number[]): TokenChoice {
    const { choice } = this.parts;
    const { sampler } = choice;
    const accept = (token: number): number => {
      choice.accept(token);
      found.push(token);
      return token;
    };
    if (!sampler || !proposals) return { ...choice, take: (row) => accept(choice.take(row)) };
    const compare = ({ logits, best }: RowOutput): number => {
      const at = found.length;
      const proposal = proposals[at];
      if (!proposal) return sampler.sample(logits!, best);
      return acceptOrRedraw(sampler.distribution(logits!), proposal, tokens[at]!, () => sampler.nextRandom());
    };
    return { head: 'ranked', take: (row) => accept(compare(row)), accept() {} };
  }
}

const noStops = new Int32Array(0);
