import type { HostArray, KvSequence } from '@quern/core';
import type { Engine } from '../engine/engine.js';
import type { TokenChoice } from '../engine/token-choice.js';
import type { Decoding } from '../generation/decoding.js';
import { acceptOrRedraw } from '../sampling/distribution.js';
import type { Draft, Drafter } from './drafter.js';

export interface SpeculativeParts {
  readonly engine: Engine;
  readonly sequence: KvSequence;
  readonly choice: TokenChoice;
  readonly drafter: Drafter;
  /** For tokens that nothing is drafted for. */
  readonly plain: Decoding;
  readonly prompt: readonly number[];
  readonly signal: AbortSignal | undefined;
}

/**
 * Guesses some tokens and checks them in one step: those that the model itself would have chosen stay, and the first that
 * it would not have is replaced by its own choice. So each step gives at least one token.
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
    const { engine, sequence, choice, drafter, signal } = this.parts;
    const before = sequence.length;
    const head = choice.sampler ? 'logits' : 'argmax';
    const found = await engine.rows.run(
      sequence,
      [last, ...draft.tokens],
      head,
      (output) => this.choose(output, draft),
      signal,
    );
    sequence.truncate(before + found.length); // the last token and the drafts that stay
    this.drafted += draft.tokens.length;
    this.accepted += found.length - 1;
    drafter.learn(found.length - 1);
    return found;
  }

  /** The model's own tokens, up to the first that is not the drafted one. */
  private choose(output: HostArray, draft: Draft): number[] {
    const rows = draft.tokens.length + 1;
    const width = output.length / rows;
    const found: number[] = [];
    for (let row = 0; row < rows; row++) {
      const token = this.tokenAt(output.subarray(row * width, (row + 1) * width), row, draft);
      this.parts.choice.accept(token);
      found.push(token);
      if (token !== draft.tokens[row]) break;
    }
    return found;
  }

  /** A draft without chance in it is accepted just when the model's own choice, drawn as ever, is the same. */
  private tokenAt(output: HostArray, row: number, { tokens, proposals }: Draft): number {
    const { sampler } = this.parts.choice;
    if (!sampler) return output[0]!;
    const logits = output as Float32Array; // [V]
    const proposal = proposals?.[row];
    if (!proposal) return sampler.sample(logits);
    const wanted = sampler.distribution(logits);
    return acceptOrRedraw(wanted, proposal, tokens[row]!, () => sampler.nextRandom());
  }
}
