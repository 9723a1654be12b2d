import type { KvSequence } from '@quern/core';
import type { Random } from '../sampling/random.js';
import type { SpeechSession } from './session.js';
import { applyRules, argmax, type NextTokens, type RuleOptions } from './token-rules.js';

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
  /** Logits [V] after the root. */
  readonly logits: Float32Array;
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
  { session, root, logits, rules, maxTokens, signal }: WritingOptions,
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
    let rows: (draft: number) => Float32Array = () => logits.slice();
    while (live.length > 0) {
      live = live.filter((draft, i) => {
        const next = applyRules(rows(i), draft.tokens, rules);
        const id = temperature === 0 ? argmax(next.logits) : draw(next, temperature, random);
        draft.logProbability += next.logits[id]! - next.normaliser;
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

/** A token with the probability that its logit gives it at a temperature. */
function draw({ logits }: NextTokens, temperature: number, random: Random): number {
  const largest = logits[argmax(logits)]!;
  const weight = (logit: number) => Math.exp((logit - largest) / temperature);
  let total = 0;
  for (const logit of logits) total += weight(logit);
  let left = random.nextDouble() * total;
  let last = 0;
  for (let id = 0; id < logits.length; id++) {
    if (logits[id] === Number.NEGATIVE_INFINITY) continue;
    last = id;
    left -= weight(logits[id]!);
    if (left < 0) return id;
  }
  return last;
}
