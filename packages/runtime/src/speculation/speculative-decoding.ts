import type { Engine } from '../engine/engine.js';
import type { Sequence } from '../engine/sequence.js';
import type { TokenChoice } from '../engine/token-choice.js';
import type { Decoding } from '../generation/decoding.js';
import type { Constraint } from '../structured/constraint.js';
import { type Draft, type Drafter, noDraft } from './drafter.js';

export interface SpeculativeParts {
  readonly engine: Engine;
  readonly sequence: Sequence;
  readonly choice: TokenChoice;
  readonly drafter: Drafter;
  /** The choice's. */
  readonly constraint: Constraint | undefined;
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

  async next(ids: readonly number[], most: number): Promise<readonly number[]> {
    const { history, parts } = this;
    history.push(...ids);
    const draft = ids.length === 1 ? await this.draft(most - 1) : noDraft; // several make a prompt, without drafts
    const found =
      draft.tokens.length > 0 ? await this.verify(ids[0]!, draft, most) : await parts.plain.next(ids, most);
    history.push(...found.slice(0, -1));
    return found;
  }

  close(): void {
    this.parts.drafter.close();
  }

  /** Up to `most` tokens; under a constraint, only allowed ones, up to the first after which others are forced. */
  private async draft(most: number): Promise<Draft> {
    const { engine, drafter, constraint, signal } = this.parts;
    const room = Math.min(most, engine.mostDrafts);
    if (room <= 0) return noDraft;
    const draft = await drafter.draft(this.history, room, engine.sharing);
    return constraint ? { ...draft, tokens: await constraint.allowed(draft.tokens, signal) } : draft;
  }

  private async verify(last: number, draft: Draft, most: number): Promise<readonly number[]> {
    const { sequence, drafter } = this.parts;
    const before = sequence.tokens.length;
    const found: number[] = [];
    try {
      await this.check(last, draft, this.choiceFor(draft, most, found), found);
    } catch (error) {
      sequence.truncate(before);
      throw error;
    }
    this.drafted += draft.tokens.length;
    this.accepted += found.length - 1;
    drafter.learn(draft.tokens.length, found.length - 1);
    return found;
  }

  /** Appends the model's tokens after `last` to `found`, up to the first that differs from the draft. */
  private async check(
    last: number,
    draft: Draft,
    choice: TokenChoice,
    found: readonly number[],
  ): Promise<void> {
    const { engine, sequence, signal } = this.parts;
    for (let token = last; ; token = found.at(-1)!) {
      const at = found.length;
      const drafts = draft.tokens.slice(at, at + engine.exactRows - 1);
      const ids = [token, ...drafts];
      await engine.decode({ sequence, ids, drafts: drafts.length, choice, most: 1, stops: noStops, signal });
      if (found.at(-1) !== draft.tokens[found.length - 1]) return;
    }
  }

  /** The call's choice, of up to `most` tokens; each is appended to `found` and counts for the next one. */
  private choiceFor({ tokens, proposals }: Draft, most: number, found: number[]): TokenChoice {
    const { choice, constraint } = this.parts;
    const forced = (at: number) => (at === tokens.length ? constraint?.forced(most - at - 1)[0] : undefined); // a draft ends before it
    return {
      ...choice,
      ...(proposals && { head: 'ranked', draws: undefined }), // probabilities are compared: all logits are wanted
      take(row) {
        const at = found.length;
        const from = proposals?.[at];
        const token = forced(at) ?? choice.take(row, from && { token: tokens[at]!, from });
        choice.accept(token);
        found.push(token);
        return token;
      },
    };
  }
}

const noStops = new Int32Array(0);
