import type { KvSequence } from '@quern/core';
import type { Random } from '../sampling/random.js';
import type { SpeechSession } from './session.js';
import { applyRules, argmax, logProbability, type NextTokens, type RuleOptions } from './token-rules.js';

/** A text of one window. */
export interface WrittenText {
  /** Text and timestamps, without the end. */
  readonly tokens: readonly number[];
  /** Σ of the logarithms of the tokens' probabilities, the end's included. */
  readonly logProbability: number;
}

/** What every way of writing about a window starts with. */
export interface WritingOptions {
  readonly session: SpeechSession;
  /** Ends with the tokens that say what is wanted. */
  readonly root: KvSequence;
  /** Probabilities [V] of what follows the root. */
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
 * Writes `count` texts side by side, each token drawn at a temperature; at 0 the likeliest. The root is released with
 * the others by whoever opened it.
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

/** A token by its probability, which a temperature above 1 evens and one below sharpens. */
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
