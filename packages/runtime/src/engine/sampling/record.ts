import type { Backend, InputOf, RepeatedStep, StepArrays, Tensor } from '@quern/core';
import { type Batch, longestChain, type SequenceRows } from '../batch.js';
import { maxTopLogprobs, type SamplingMode } from './mode.js';
import { greedy } from './params.js';

/** Most tokens in the order of 'ranked'. */
const maxRanked = 128;

/** Inputs of the pipeline at the end of a step: S rows with outputs. Those that the mode does not read are empty. */
export type SamplingArrays = {
  /** [S, 4] */
  readonly settings: Float32Array;
  /** [S · longestChain, 2]: random words of each row, for all steps of a chain. */
  readonly random: Int32Array;
  /** [S]: index of each row's random words; + 1 per step of a chain. */
  readonly draws: Int32Array;
  /** [S, V]: added to the logits. */
  readonly bias: Float32Array;
  /** [S, L]: earlier tokens that penalties count; −1: none. */
  readonly recent: Int32Array;
  /** [S, 3]: repetition, presence, frequency. */
  readonly strengths: Float32Array;
  /** [S, V / 32]: the tokens that each row may choose. */
  readonly bits: Int32Array;
};

/** Words of a mask over V tokens. */
const wordsOf = (V: number): number => Math.ceil(V / 32);

/** Penalties that change nothing. */
const noPenalty = Float32Array.of(1, 0, 0);

export const samplingArrays = (
  S: number,
  V: number,
  { kind, biases, recent, masks }: SamplingMode,
): SamplingArrays => {
  const drawn = kind === 'drawn' ? S : 0;
  return {
    settings: Float32Array.from({ length: 4 * drawn }, (_, i) => greedy[i % 4]!),
    random: new Int32Array(2 * drawn * longestChain),
    draws: new Int32Array(drawn),
    bias: new Float32Array(biases ? S * V : 0),
    recent: new Int32Array(S * recent).fill(-1),
    strengths: Float32Array.from({ length: recent > 0 ? 3 * S : 0 }, (_, i) => noPenalty[i % 3]!),
    bits: new Int32Array(masks ? S * wordsOf(V) : 0),
  };
};

/** The outputs of S rows. */
export type RecordedOutputs = {
  /** [S] or [S, W]: tokens. */
  readonly best?: Tensor;
  /** [S, V] */
  readonly logits?: Tensor;
  /** [S, 1]: the drawn tokens' log-probabilities; [S, n], [S, n]: the likeliest tokens and theirs. */
  readonly chosen?: Tensor;
  readonly tops?: Tensor;
  readonly topLogprobs?: Tensor;
};

/** Records the pipeline of `mode`, from logits [S, V]. */
export function recordSampling(
  backend: Backend,
  logits: Tensor,
  mode: SamplingMode,
  input: InputOf<SamplingArrays>,
): RecordedOutputs {
  switch (mode.kind) {
    case 'none':
      return {};
    case 'argmax':
      return { best: backend.argmax(logits) };
    case 'logits':
      return { logits };
    case 'ranked':
      return { best: backend.topK(logits, Math.min(maxRanked, logits.shape[1]!)).indices, logits };
    case 'drawn':
      return recordDraw(backend, logits, mode, input);
  }
}

/** Bias, penalties, mask; filters and draw, by the op `sample`; log-probabilities. */
function recordDraw(
  backend: Backend,
  logits: Tensor,
  { biases, recent, masks, logprobs }: SamplingMode,
  input: InputOf<SamplingArrays>,
): RecordedOutputs {
  const [S, V] = logits.shape as [number, number];
  let x = logits;
  if (biases) x = backend.add(x, input('bias', [S, V]));
  if (recent > 0) x = backend.penalise(x, input('recent', [S, recent]), input('strengths', [S, 3]));
  if (masks) x = backend.maskLogits(x, input('bits', [S, wordsOf(V)]));
  const random = input('random', [S * longestChain, 2]);
  const best = backend.sample(x, input('settings', [S, 4]), random, input('draws'));
  if (!logprobs) return { best };
  const { indices: tops } = backend.topK(logits, Math.min(maxTopLogprobs, V)); // the model's own logits
  const chosen = backend.logProbs(logits, backend.view(best, [S, 1]));
  return { best, chosen, tops, topLogprobs: backend.logProbs(logits, tops) };
}

type WrittenRows = Pick<SequenceRows, 'tokens' | 'outputs' | 'sampling'>;

/**
 * Writes the inputs of a drawn step, with random words of the next `count` steps. A row without `sampling` takes the
 * likeliest token. The outputs of a sequence are successive draws.
 */
export function writeSampling<Arrays extends StepArrays & SamplingArrays>(
  step: RepeatedStep<Arrays>,
  batch: Batch,
  count: number,
): void {
  const { draws, random, bias, recent, bits } = step.arrays;
  let r = 0;
  for (const rows of batch) {
    const { outputs, sampling } = rows;
    sampling?.params.random.peek(random, 2 * r * longestChain, Math.max(count, outputs));
    for (let at = 0, first = r; at < outputs; at++, r++) {
      draws[r] = first * longestChain + at;
      step.change('settings', sampling?.params.settings ?? greedy, 4 * r);
      if (bias.length > 0) writeBias(step.arrays, rows, r);
      if (recent.length > 0) writePenalties(step.arrays, rows, r, at);
      if (bits.length > 0) writeMask(step.arrays, rows, r, at);
    }
  }
  step.write('random', 'draws');
  if (bias.length > 0) step.write('bias');
  if (recent.length > 0) step.write('recent', 'strengths');
  if (bits.length > 0) step.write('bits');
}

function writeBias({ bias, draws }: SamplingArrays, { sampling }: WrittenRows, r: number): void {
  const V = bias.length / draws.length;
  const into = bias.subarray(r * V, (r + 1) * V).fill(0);
  for (const [token, value] of sampling?.params.logitBias ?? []) into[token] = value;
}

/** @param at number of drafts before the row in its sequence */
function writePenalties(
  { recent, strengths, draws }: SamplingArrays,
  { tokens, outputs, sampling }: WrittenRows,
  r: number,
  at: number,
): void {
  const L = recent.length / draws.length;
  const into = recent.subarray(r * L, (r + 1) * L);
  const counted = sampling?.params.recent;
  const first = tokens.length - outputs + 1; // of the drafts
  const withDrafts = at > 0 ? counted?.with(tokens.slice(first, first + at)) : counted;
  into.fill(-1, withDrafts?.write(into) ?? 0);
  strengths.set(counted ? sampling!.params.strengths : noPenalty, 3 * r);
}

const everyToken = -1; // 32 bits

/** @param at number of drafts before the row in its sequence */
function writeMask({ bits, draws }: SamplingArrays, { sampling }: WrittenRows, r: number, at: number): void {
  const words = bits.length / draws.length;
  const mask = sampling?.masks?.subarray(at * words, (at + 1) * words);
  if (mask) bits.set(mask, r * words);
  else bits.fill(everyToken, r * words, (r + 1) * words);
}

/** Output of a step for one row, on the host. Valid until the step runs again. */
export interface RowOutput {
  /**
   * Token ids, likeliest first; of equal logits the lowest id first; NaN counts as -Infinity. Length: 1 for 'argmax' and
   * 'drawn' (-1 where the device could draw no token), ≤ `maxRanked` for 'ranked', 0 for 'logits'.
   */
  readonly best: Int32Array;
  /** [V], for 'logits' and 'ranked'. */
  readonly logits: Float32Array | undefined;
  /** For modes that find log-probabilities. */
  readonly logprobs?: RowLogprobs | undefined;
}

/** Log-probabilities of a row, by the model's own logits. */
interface RowLogprobs {
  /** Of the chosen token. */
  readonly chosen: number;
  /** The n ≤ `maxTopLogprobs` likeliest tokens, and theirs. */
  readonly tops: Int32Array;
  readonly topLogprobs: Float32Array;
}

const noTokens = new Int32Array(0);

/** Arrays of a step with R rows with outputs. */
type OutputArrays = StepArrays & { readonly lastRows: Int32Array };

/** The rows of a finished step of this mode. */
export function readRows<Arrays extends OutputArrays>(
  step: RepeatedStep<Arrays>,
  { kind, logprobs }: SamplingMode,
): readonly RowOutput[] {
  if (kind === 'none') return [];
  const R = step.arrays.lastRows.length;
  const best = kind === 'logits' ? noTokens : (step.read('best') as Int32Array); // [R, W]
  const logits = kind === 'logits' || kind === 'ranked' ? (step.read('logits') as Float32Array) : undefined; // [R, V]
  const logprobsOf = logprobs ? readLogprobs(step, R) : undefined;
  return Array.from({ length: R }, (_, row) => ({
    best: rowOf(best, row, R),
    logits: logits && rowOf(logits, row, R),
    logprobs: logprobsOf?.(row),
  }));
}

function readLogprobs(
  step: Pick<RepeatedStep<OutputArrays>, 'read'>,
  R: number,
): (row: number) => RowLogprobs {
  const chosen = step.read('chosen') as Float32Array;
  const tops = step.read('tops') as Int32Array;
  const topLogprobs = step.read('topLogprobs') as Float32Array;
  return (row) => ({
    chosen: chosen[row]!,
    tops: rowOf(tops, row, R),
    topLogprobs: rowOf(topLogprobs, row, R),
  });
}

function rowOf<Values extends Int32Array | Float32Array>(values: Values, row: number, rows: number): Values {
  const width = values.length / rows;
  return values.subarray(row * width, (row + 1) * width) as Values;
}
