import type { Backend, InputOf, RepeatedStep, StepArrays, Tensor } from '@quern/core';
import { longestChain, type SequenceRows } from './batch.js';
import type { HeadParts } from './heads.js';


/** Settings that take the likeliest token. */
const greedy = Float32Array.of(0, 0, 1, Number.NEGATIVE_INFINITY);

/** Inputs of the op `sample` at the end of a step: S rows with outputs. */
export type SampleArrays = {
  /** [S, 4] */
  readonly settings: Float32Array;
  /** [S · longestChain, 2]: random words of each row, for all steps of a chain. */
  readonly random: Int32Array;
  /** [S]: index of each row's random words; + 1 per step of a chain. */
  readonly draws: Int32Array;
  /** [S, V / 32]: the tokens that each row may choose. */
  readonly bits: Int32Array;
  /** [S, V]: added to the logits. */
  readonly bias: Float32Array;
  /** [S, L]: earlier tokens that penalties count; −1: none. */
  readonly recent: Int32Array;
  /** [S, 3]: repetition, presence, frequency. */
  readonly strengths: Float32Array;
};

/** Words of a mask over V tokens. */
const wordsOf = (V: number): number => Math.ceil(V / 32);

/** Penalties that change nothing. */
const noPenalty = Float32Array.of(1, 0, 0);

/** For S rows and V tokens; arrays that the head does not read are empty. */
export const sampleArrays = (
  S: number,
  V: number,
  { draws, masks, biases, recent }: HeadParts,
): SampleArrays => ({
  settings: Float32Array.from({ length: draws ? 4 * S : 0 }, (_, i) => greedy[i % 4]!),
  random: new Int32Array(draws ? 2 * S * longestChain : 0),
  draws: new Int32Array(draws ? S : 0),
  bits: new Int32Array(masks ? S * wordsOf(V) : 0),
  bias: new Float32Array(biases ? S * V : 0),
  recent: new Int32Array(S * recent).fill(-1),
  strengths: Float32Array.from({ length: recent > 0 ? 3 * S : 0 }, (_, i) => noPenalty[i % 3]!),
});

/** Records what a head does before it draws: logits [S, V] → [S, V]. */
export function recordAdjustments(
  backend: Backend,
  logits: Tensor,
  { masks, biases, recent }: HeadParts,
  input: InputOf<SampleArrays>,
): Tensor {
  const [S, V] = logits.shape as [number, number];
  let x = logits;
  if (biases) x = backend.add(x, input('bias', [S, V]));
  if (recent > 0) x = backend.penalise(x, input('recent', [S, recent]), input('strengths', [S, 3]));
  return masks ? backend.maskLogits(x, input('bits', [S, wordsOf(V)])) : x;
}

/** Most of the likeliest tokens whose log-probabilities a head notes: what OpenAI's API offers. */
export const mostNoted = 20;

/** Log-probabilities of the drawn tokens and of the likeliest ones. Shapes: [S, 1], [S, n], [S, n]. */
export type NotedTensors = Readonly<Record<'chosen' | 'tops' | 'topLogprobs', Tensor>>;

/** @param logits [S, V], as the model gives them; `tokens` [S] */
export function recordNotes(backend: Backend, logits: Tensor, tokens: Tensor): NotedTensors {
  const [S, V] = logits.shape as [number, number];
  const { indices: tops } = backend.topK(logits, Math.min(mostNoted, V));
  return {
    chosen: backend.logProbs(logits, backend.view(tokens, [S, 1])),
    tops,
    topLogprobs: backend.logProbs(logits, tops),
  };
}

/** Records the op `sample`: logits [S, V] → tokens [S]. */
export function recordSample(backend: Backend, logits: Tensor, input: InputOf<SampleArrays>): Tensor {
  const S = logits.shape[0]!;
  const random = input('random', [S * longestChain, 2]);
  return backend.sample(logits, input('settings', [S, 4]), random, input('draws'));
}

/** A row with an output. `at`: number of drafts before it in its sequence. */
interface ChoosingRow {
  readonly rows: Pick<SequenceRows, 'tokens' | 'outputs' | 'draws' | 'masks' | 'adjustment'>;
  readonly at: number;
}

const choosingRows = (batch: readonly ChoosingRow['rows'][]): ChoosingRow[] =>
  batch.flatMap((rows) => Array.from({ length: rows.outputs }, (_, at) => ({ rows, at })));

/**
 * Writes settings, random words of the next `count` steps, masks, biases and penalties. A row without draws takes the
 * likeliest token; a row without a mask may choose every token. The outputs of a sequence are successive draws.
 */
export function writeDraws<Arrays extends StepArrays & SampleArrays>(
  step: RepeatedStep<Arrays>,
  batch: readonly ChoosingRow['rows'][],
  count: number,
): void {
  const { random, draws: next } = step.arrays;
  const choosing = choosingRows(batch);
  for (const [r, { rows, at }] of choosing.entries()) {
    next[r] = (r - at) * longestChain + at;
    step.change('settings', rows.draws?.settings ?? greedy, 4 * r);
    if (at === 0) rows.draws?.peek(random, 2 * next[r]!, Math.max(count, rows.outputs));
  }
  step.write('random', 'draws');
  if (step.arrays.bits.length > 0) writeMasks(step, choosing);
  if (step.arrays.bias.length > 0) writeBiases(step, choosing);
  if (step.arrays.recent.length > 0) writePenalties(step, choosing);
}

const everyToken = -1; // 32 bits

function writeMasks<Arrays extends StepArrays & SampleArrays>(
  step: RepeatedStep<Arrays>,
  choosing: readonly ChoosingRow[],
): void {
  const { bits, draws } = step.arrays;
  const words = bits.length / draws.length;
  for (const [r, { rows, at }] of choosing.entries()) {
    const into = bits.subarray(r * words, (r + 1) * words);
    if (rows.masks) into.set(rows.masks.subarray(at * words, (at + 1) * words));
    else into.fill(everyToken);
  }
  step.write('bits');
}

function writePenalties<Arrays extends StepArrays & SampleArrays>(
  step: RepeatedStep<Arrays>,
  choosing: readonly ChoosingRow[],
): void {
  const { recent, strengths, draws } = step.arrays;
  const L = recent.length / draws.length;
  for (const [r, { rows, at }] of choosing.entries()) {
    const { tokens, outputs = 1, adjustment } = rows;
    const into = recent.subarray(r * L, (r + 1) * L);
    const first = tokens.length - outputs + 1; // of the drafts
    into.fill(-1, adjustment?.writeRecent(into, tokens.slice(first, first + at)) ?? 0);
    strengths.set(adjustment?.strengths ?? noPenalty, 3 * r);
  }
  step.write('recent', 'strengths');
}

function writeBiases<Arrays extends StepArrays & SampleArrays>(
  step: RepeatedStep<Arrays>,
  choosing: readonly ChoosingRow[],
): void {
  const { bias, draws } = step.arrays;
  const V = bias.length / draws.length;
  for (let r = 0; r < draws.length; r++) {
    const into = bias.subarray(r * V, (r + 1) * V);
    into.fill(0);
    for (const [token, value] of choosing[r]?.rows.adjustment?.bias ?? []) into[token] = value;
  }
  step.write('bias');
}
