import { type Tensor, type Weight, yieldToEventLoop } from '@quern/core';
import { needProbabilities } from '../broken-numbers.js';
import { type CutSegment, secondsPerTimestamp } from './cut-segments.js';
import type { Word } from './options.js';
import type { SpeechSession } from './session.js';
import type { SpeechVocabulary } from './vocabulary.js';
import { joinPunctuation, splitWords } from './words.js';

export interface Alignment {
  readonly session: SpeechSession;
  readonly vocabulary: SpeechVocabulary;
  /** [layer, head]; absent: every head of the later half of the layers. */
  readonly heads: readonly (readonly [layer: number, head: number])[] | undefined;
  /** The encoder's hidden states of the window, [n, D]. */
  readonly encoded: Float32Array;
  /** Number of frames with sound; silence follows. */
  readonly frames: number;
  readonly wanted: readonly number[];
  /** Start of the window in the recording, in seconds. */
  readonly offset: number;
  readonly language: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Start and end of each word. The decoder reads the text again; its cross attention gives a cost [tokens, frames], and
 * the cheapest monotonic path through it gives the times (Radford et al. 2022, their `timing.py`; dynamic time warping,
 * Sakoe & Chiba 1978).
 * @returns the words of each segment
 */
export async function alignWords(alignment: Alignment, segments: readonly CutSegment[]): Promise<Word[][]> {
  const { vocabulary, wanted, offset, language } = alignment;
  const { endOfText, noTimestamps } = vocabulary.ids;
  const texts = segments.map(({ tokens }) => tokens.filter((id) => id < endOfText));
  const text = texts.flat();
  const tokens = [...wanted, noTimestamps, ...text, endOfText];
  const { attentions, probabilities } = await crossAttention(alignment, tokens, wanted.length);
  const times = await startFrames(attentions, text.length + 1, alignment.frames);
  let at = 0;
  return texts.map((ids) => {
    const words: Word[] = [];
    for (const piece of splitWords(vocabulary, ids, language)) {
      const end = at + piece.tokens.length;
      words.push({
        word: piece.word,
        start: offset + times[at]! * secondsPerTimestamp,
        end: offset + times[end]! * secondsPerTimestamp,
        probability: mean(probabilities.slice(at, end)),
      });
      at = end;
    }
    return joinPunctuation(words);
  });
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Cross attention of each head: [tokens, frames], for the tokens from `noTimestamps` to the last of the text. Also the
 * probability of each text token.
 */
async function crossAttention(
  { session, heads, encoded, frames, vocabulary, signal }: Alignment,
  tokens: readonly number[],
  first: number,
): Promise<{ attentions: Float32Array[]; probabilities: number[] }> {
  const { backend, decoder, config } = session.model;
  const { layers, heads: H, headDim: d } = config.decoder;
  const chosen = heads ?? laterHeads(layers, H);
  const sequence = session.sequence();
  sequence.append(tokens.length);
  const keys = await soundKeys(session, [...new Set(chosen.map(([layer]) => layer))], encoded, signal);
  const weights: Weight[] = [];
  try {
    for (const [layer, head] of chosen)
      weights.push(
        await backend.loadWeight({
          name: `keys of layer ${layer}, head ${head}`,
          shape: [frames, d],
          format: 'f32',
          bytes: new Uint8Array(keysOfHead(keys.get(layer)!, head, frames, H, d).buffer),
        }),
      );
    using step = backend.step();
    const { ids, batch } = session.inputs(step, { sequence, tokens });
    const queries = new Map<number, Tensor>();
    const x = decoder.hidden(ids, batch, session.caches, (query, layer) => queries.set(layer, query));
    const count = tokens.length - 1 - first; // tokens followed by text or by the end
    const attentions = chosen.map(([layer, head], i) => {
      const rows = step.input(Int32Array.from({ length: count }, (_, t) => (first + t) * H + head));
      const q = backend.gatherRows(backend.view(queries.get(layer)!, [tokens.length * H, d]), rows); // [count, d]
      return backend.softmax(backend.scale(backend.linear(q, weights[i]!), 1 / Math.sqrt(d))); // [count, frames]
    });
    const textRows = step.input(Int32Array.from({ length: count - 1 }, (_, t) => first + t));
    const following = backend.softmax(decoder.logits(backend.gatherRows(x, textRows))); // [text tokens, V]
    await step.run(signal ? { signal } : {});
    const V = config.vocabulary;
    const values = (await step.read(following)) as Float32Array;
    needProbabilities(values, V);
    const { endOfText } = vocabulary.ids;
    const probabilities: number[] = [];
    for (let t = 0; t < count - 1; t++) {
      const ofText = values.subarray(t * V, t * V + endOfText);
      probabilities.push(ofText[tokens[first + 1 + t]!]! / ofText.reduce((sum, value) => sum + value, 0));
      if (t % 16 === 15) await yieldToEventLoop();
    }
    const read = await Promise.all(attentions.map((attention) => step.read(attention)));
    return { attentions: read as Float32Array[], probabilities };
  } finally {
    for (const weight of weights) weight.dispose();
    sequence.release();
  }
}

const laterHeads = (layers: number, heads: number): [number, number][] =>
  Array.from({ length: layers - Math.floor(layers / 2) }, (_, i) => Math.floor(layers / 2) + i).flatMap(
    (layer) => Array.from({ length: heads }, (_, head): [number, number] => [layer, head]),
  );

/** The keys of some layers, [n, D] each. */
async function soundKeys(
  { model: { backend, decoder, config } }: SpeechSession,
  layers: readonly number[],
  encoded: Float32Array,
  signal: AbortSignal | undefined,
): Promise<Map<number, Float32Array>> {
  using step = backend.step();
  const hidden = step.input(encoded, [config.encoder.context, config.width]);
  const keys = layers.map((layer) => decoder.soundKeys(hidden, layer));
  await step.run(signal ? { signal } : {});
  const values = await Promise.all(keys.map((key) => step.read(key)));
  return new Map(layers.map((layer, i) => [layer, values[i] as Float32Array]));
}

/** The keys of one head: [n, H · d] → [frames, d]. */
function keysOfHead(
  keys: Float32Array,
  head: number,
  frames: number,
  heads: number,
  d: number,
): Float32Array<ArrayBuffer> {
  const own = new Float32Array(frames * d);
  for (let t = 0; t < frames; t++) {
    const at = (t * heads + head) * d;
    own.set(keys.subarray(at, at + d), t * d);
  }
  return own;
}

/** Half width of the median filter, in frames. */
const reach = 3;

/** The first frame of each of `count` rows, then `frames`, the end. @param attentions of each head, [count, frames] */
async function startFrames(
  attentions: readonly Float32Array[],
  count: number,
  frames: number,
): Promise<number[]> {
  const cost = new Float32Array(count * frames);
  for (const attention of attentions) {
    standardise(attention, count, frames);
    for (let row = 0; row < count; row++) {
      subtractMedians(
        attention.subarray(row * frames, (row + 1) * frames),
        cost.subarray(row * frames),
        attentions.length,
      );
      if (row % 32 === 31) await yieldToEventLoop();
    }
    await yieldToEventLoop();
  }
  return [...warp(cost, count, frames), frames];
}

/** Scales every column to mean 0 and deviation 1: a frame that all tokens attend to alike carries no information. */
function standardise(attention: Float32Array, rows: number, columns: number): void {
  for (let column = 0; column < columns; column++) {
    let sum = 0;
    let squares = 0;
    for (let row = 0; row < rows; row++) {
      const value = attention[row * columns + column]!;
      sum += value;
      squares += value * value;
    }
    const average = sum / rows;
    const deviation = Math.sqrt(Math.max(0, squares / rows - average * average)) || 1;
    for (let row = 0; row < rows; row++) {
      const at = row * columns + column;
      attention[at] = (attention[at]! - average) / deviation;
    }
  }
}

/** cost −= median of each element and its neighbours (mirrored at the ends) / `heads`. */
function subtractMedians(row: Float32Array, cost: Float32Array, heads: number): void {
  const near = new Float32Array(2 * reach + 1);
  const last = row.length - 1;
  for (let i = 0; i <= last; i++) {
    for (let k = -reach; k <= reach; k++) {
      const at = Math.abs(i + k);
      near[k + reach] = row[Math.max(0, at > last ? 2 * last - at : at)]!;
    }
    near.sort();
    cost[i]! -= near[reach]! / heads;
  }
}

/** The cheapest monotonic path through cost [rows, columns]; returns the first column of each row. */
export function warp(cost: Float32Array, rows: number, columns: number): number[] {
  const width = columns + 1;
  const total = new Float64Array((rows + 1) * width).fill(Number.POSITIVE_INFINITY);
  const from = new Uint8Array((rows + 1) * width); // predecessor: 0: (i − 1, j − 1), 1: (i − 1, j), 2: (i, j − 1)
  total[0] = 0;
  for (let i = 1; i <= rows; i++)
    for (let j = 1; j <= columns; j++) {
      const at = i * width + j;
      const ways = [total[at - width - 1]!, total[at - width]!, total[at - 1]!];
      const best = ways[0]! < ways[1]! && ways[0]! < ways[2]! ? 0 : ways[1]! < ways[2]! ? 1 : 2;
      total[at] = cost[(i - 1) * columns + j - 1]! + ways[best]!;
      from[at] = best;
    }
  const begins = new Array<number>(rows).fill(0);
  for (let i = rows, j = columns; i > 0 && j > 0; ) {
    begins[i - 1] = j - 1;
    const way = from[i * width + j]!;
    if (way !== 2) i--;
    if (way !== 1) j--;
  }
  return begins;
}
