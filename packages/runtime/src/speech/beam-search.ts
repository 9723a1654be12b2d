import type { KvSequence } from '@quern/core';
import { applyRules, logProbability, type NextTokens } from './token-rules.js';
import type { WritingOptions, WrittenText } from './written-text.js';

interface Beam extends WrittenText {
  readonly sequence: KvSequence;
}

/** A beam with one more token. */
interface Candidate {
  readonly beam: Beam;
  readonly id: number;
  readonly logProbability: number;
}

/**
 * Beam search with `width` beams; returns the text with the highest mean log probability per token. Beams share the
 * cache of their common prefix. Ends when `width` texts have ended.
 */
export async function searchBeams(options: WritingOptions, width: number): Promise<WrittenText> {
  const { session, root, rules, maxTokens, signal } = options;
  const V = session.model.config.vocabulary;
  const ended: WrittenText[] = [];
  let beams: Beam[] = [{ sequence: root.fork(), tokens: [], logProbability: 0 }];
  let rows: readonly Float32Array[] = [options.first.slice()];
  try {
    for (let written = 0; written < maxTokens && ended.length < width; written++) {
      const candidates = beams
        .flatMap((beam, i) => extend(beam, applyRules(rows[i]!, beam.tokens, rules), width + 1))
        .sort((a, b) => b.logProbability - a.logProbability);
      const kept: Candidate[] = [];
      for (const candidate of candidates) {
        if (kept.length === width) break;
        if (candidate.id !== rules.ids.endOfText) kept.push(candidate);
        else if (ended.length < width)
          ended.push({ tokens: candidate.beam.tokens, logProbability: candidate.logProbability });
      }
      beams = follow(beams, kept);
      if (beams.length === 0 || ended.length === width || written + 1 === maxTokens) break;
      const after = await session.next(
        beams.map(({ sequence }) => sequence),
        beams.map(({ tokens }) => tokens.at(-1)!),
        signal,
      );
      rows = beams.map((_, i) => after.subarray(i * V, (i + 1) * V));
    }
    return likeliest([...ended, ...beams.slice(0, Math.max(0, width - ended.length))]);
  } finally {
    for (const { sequence } of beams) sequence.release();
  }
}

/** The `count` likeliest continuations. */
function extend(beam: Beam, next: NextTokens, count: number): Candidate[] {
  const { weights } = next;
  const best: number[] = [];
  let threshold = -1; // forbidden tokens have weight −1
  for (let id = 0; id < weights.length; id++) {
    const weight = weights[id]!;
    if (!(weight > threshold)) continue;
    const at = best.findIndex((other) => weights[other]! < weight);
    best.splice(at < 0 ? best.length : at, 0, id);
    if (best.length > count) best.pop();
    if (best.length === count) threshold = weights[best.at(-1)!]!;
  }
  return best.map((id) => ({ beam, id, logProbability: beam.logProbability + logProbability(next, id) }));
}

/** The beams of the kept candidates; releases the previous beams. */
function follow(before: readonly Beam[], kept: readonly Candidate[]): Beam[] {
  const beams = kept.map(({ beam, id, logProbability }) => ({
    sequence: beam.sequence.fork(),
    tokens: [...beam.tokens, id],
    logProbability,
  }));
  for (const { sequence } of before) sequence.release();
  return beams;
}

const perToken = ({ tokens, logProbability }: WrittenText) => logProbability / Math.max(1, tokens.length);

const likeliest = (texts: readonly WrittenText[]): WrittenText =>
  texts.reduce((best, text) => (perToken(text) > perToken(best) ? text : best));
