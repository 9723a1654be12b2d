import type { ResolvedOptions } from './options.js';
import type { RecentTokens } from './recent-tokens.js';

/** What a device changes of a row's logits. */
export interface Adjustment {
  /** Added, by token id. */
  readonly bias: ReadonlyMap<number, number>;
  /** [3]: repetition, presence, frequency. */
  readonly strengths: Float32Array;
  /** Number of tokens that `writeRecent` writes. */
  readonly recent: number;
  /**
   * Writes the earlier tokens that penalties count, `more` the last of them, in any order. Returns their number: at
   * most `recent` + `more.length`.
   */
  writeRecent(into: Int32Array, more: readonly number[]): number;
}

/** Applies logit bias and penalties to logits in place, and undoes them. */
export class Adjustments {
  /** Token → its logit before the change. */
  readonly originals = new Map<number, number>();
  private readonly hasPenalty: boolean;
  /** Whether any logit may change. */
  readonly changes: boolean;

  constructor(private readonly options: ResolvedOptions) {
    const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
    this.hasPenalty = repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
    this.changes = options.logitBias.size > 0 || (this.hasPenalty && options.penaltyWindow !== 0);
  }

  /** The same, for a device; undefined: nothing changes. */
  onDevice(recent: RecentTokens): Adjustment | undefined {
    if (!this.changes) return undefined;
    const { logitBias: bias, repetitionPenalty, presencePenalty, frequencyPenalty } = this.options;
    const { hasPenalty } = this;
    return {
      bias,
      strengths: Float32Array.of(repetitionPenalty, presencePenalty, frequencyPenalty),
      get recent() {
        return hasPenalty ? recent.length : 0;
      },
      writeRecent: (into, more) =>
        hasPenalty ? (more.length > 0 ? recent.with(more) : recent).write(into) : 0,
    };
  }

  apply(logits: Float32Array, recent: RecentTokens): void {
    const { logitBias } = this.options;
    for (const token of logitBias.keys()) this.remember(logits, token);
    addLogitBias(logits, logitBias);
    if (!this.hasPenalty) return;
    for (const [token] of recent.entries()) this.remember(logits, token);
    penalize(logits, recent.entries(), this.options);
  }

  undo(logits: Float32Array): void {
    for (const [token, logit] of this.originals) logits[token] = logit;
    this.originals.clear();
  }

  private remember(logits: Float32Array, token: number): void {
    if (token < logits.length && !this.originals.has(token)) this.originals.set(token, logits[token]!);
  }
}

/** Adds the bias of each token to its logit, in place; ignores ids ≥ logits.length. */
export function addLogitBias(logits: Float32Array, bias: ReadonlyMap<number, number>): void {
  for (const [token, value] of bias) if (token < logits.length) logits[token]! += value;
}

/**
 * Lowers the logits of recent tokens, in place. `counts`: [token, occurrences].
 *
 * Repetition: Keskar et al. 2019 (CTRL); negative logits are multiplied, so that they fall too. Presence and frequency:
 * OpenAI's definition, logit − occurrences · frequency − presence.
 */
export function penalize(
  logits: Float32Array,
  counts: Iterable<readonly [number, number]>,
  options: Pick<ResolvedOptions, 'repetitionPenalty' | 'presencePenalty' | 'frequencyPenalty'>,
): void {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  for (const [token, count] of counts) {
    if (token >= logits.length) continue;
    const logit = logits[token]!;
    const repeated = logit <= 0 ? logit * repetitionPenalty : logit / repetitionPenalty;
    logits[token] = repeated - count * frequencyPenalty - presencePenalty;
  }
}
