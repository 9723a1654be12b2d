import type { KvSequence } from '@quern/core';
import type { Random } from '../engine/sampling/random.js';
import type { SpeechSession } from './session.js';
import { applyRules, argmax, logProbability, type NextTokens, type RuleOptions } from './token-rules.js';

/** The text of one window. */
export interface WrittenText {
  /** Text and timestamps, without the end token. */
  readonly tokens: readonly number[];
  /** Σ ln p over the tokens, the end token included. */
  readonly logProbability: number;
}

/** Common input of all decoding methods. */
export interface WritingOptions {
  readonly session: SpeechSession;
  /** A sequence that ends with the tokens for start, language and task. */
  readonly root: KvSequence;
  /** Probabilities [V] after the root. */
  readonly first: Float32Array;
  readonly rules: RuleOptions;
  readonly maxTokens: number;
  readonly signal: AbortSignal | undefined;
}

interface Draft {
  readonly sequence: KvSequence;
  readonly tokens: number[];
  logProbability: number;
}

/**
 * Draws `count` texts together, each token at a temperature; at 0: greedy. Releases the texts' own sequences; the
 * caller releases the root.
 */
export async function drawTexts(
  { session, root, first, rules, maxTokens, signal }: WritingOptions,
  count: number,
  temperature: number,
  random: Random,
): Promise<WrittenText[]> {
  const V = session.model.config.vocabulary;
  const drafts = Array.from(
    { length: count },
    (): Draft => ({ sequence: root.fork(), tokens: [], logProbability: 0 }),
  );
  try {
    let live = drafts;
    let rows: (draft: number) => Float32Array = () => first.slice();
    while (live.length > 0) {
      live = live.filter((draft, i) => {
        const next = applyRules(rows(i), draft.tokens, rules);
        const id = temperature === 0 ? argmax(next.weights) : draw(next, temperature, random);
        draft.logProbability += logProbability(next, id);
        if (id === rules.ids.endOfText) return false;
        draft.tokens.push(id);
        return draft.tokens.length < maxTokens;
      });
      if (live.length === 0) break;
      const after = await session.next(
        live.map(({ sequence }) => sequence),
        live.map(({ tokens }) => tokens.at(-1)!),
        signal,
      );
      rows = (i) => after.subarray(i * V, (i + 1) * V);
    }
    return drafts;
  } finally {
    for (const { sequence } of drafts) sequence.release();
  }
}

/** A token drawn with weight p^(1 / temperature): above 1 flatter, below 1 sharper. */
function draw({ weights }: NextTokens, temperature: number, random: Random): number {
  const largest = weights[argmax(weights)]!;
  const chance = (weight: number) => (weight > 0 ? (weight / largest) ** (1 / temperature) : 0);
  let total = 0;
  for (const weight of weights) total += chance(weight);
  let left = random.nextDouble() * total;
  for (let id = 0; id < weights.length; id++) {
    left -= chance(weights[id]!);
    if (left < 0) return id;
  }
  return argmax(weights);
}
