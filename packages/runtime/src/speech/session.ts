import {
  contiguousKvCache,
  type Graph,
  inputBatch,
  type KvCache,
  type KvSequence,
  need,
  type Tensor,
} from '@quern/core';
import type { DecoderBatch, WhisperModel } from '@quern/models';
import { needProbabilities } from '../broken-numbers.js';
import { nextTurn } from '../engine/next-turn.js';
import { StepGraph } from './step-graph.js';

/** A sequence and the tokens that a step appends to it. */
export interface NewTokens {
  readonly sequence: KvSequence;
  readonly tokens: readonly number[];
}

/**
 * What one transcription keeps on the backend: the keys and values of the window that was heard, and of the texts that are
 * being written about it.
 */
export class SpeechSession {
  private readonly graphs = new Map<number, StepGraph>();

  private constructor(
    readonly model: WhisperModel,
    private readonly graph: Graph | undefined,
    private readonly text: KvCache,
    private readonly sound: KvCache,
  ) {}

  /** Room for `texts` texts at once. @throws BackendError OUT_OF_MEMORY, UNSUPPORTED (a backend without pagedKv) */
  static open(model: WhisperModel, texts: number, graph: Graph | undefined): SpeechSession {
    const { backend, config } = model;
    const { layers, heads: kvHeads, headDim, context } = config.decoder;
    const options = { layers, kvHeads, headDim, dtype: 'f16' } as const;
    need(backend, 'pagedKv');
    // Blocks of one token: texts that fork share all that they have in common.
    const blocks = texts * context;
    const text = backend.pagedKv.createCache({ ...options, context, blocks, blockSize: 1 });
    try {
      const windows = config.encoder.context;
      return new SpeechSession(
        model,
        graph,
        text,
        contiguousKvCache(backend, { ...options, context: windows, sequences: 1 }),
      );
    } catch (error) {
      text.dispose();
      throw error;
    }
  }

  /** An empty text. */
  sequence(): KvSequence {
    return this.text.sequence();
  }

  /** Encodes a window of log-mel frames [2n, M], n being the encoder's context; gives its hidden states [n, D] where asked to. */
  async hear(
    mel: Float32Array,
    keep: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array | undefined> {
    const { backend, encode, decoder, config } = this.model;
    const { context, melBands } = config.encoder;
    using step = backend.step();
    const places = Int32Array.from({ length: context }, (_, i) => i);
    const positions = step.input(places);
    const window = { positions, cuSeqlens: step.input(Int32Array.of(0, context)) };
    const encoded = encode(step.input(mel, [2 * context, melBands]), window);
    await nextTurn();
    decoder.listen(encoded, this.sound, positions);
    if (keep) step.keep(encoded);
    await nextTurn();
    await step.run(signal ? { signal } : {});
    return keep ? ((await step.read(encoded)) as Float32Array) : undefined;
  }

  /**
   * Appends tokens to a text; gives the probabilities [R, V] of what follows the rows asked for, counted from its first new
   * token. Rejects with BAD_LOGITS.
   */
  async begin(
    tokens: NewTokens,
    rows: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    const softmax = (logits: Tensor) => this.model.backend.softmax(logits);
    return this.checked(await this.write(tokens, rows, softmax, signal));
  }

  /** The same, but logits [R, V], whatever they are. */
  logits(tokens: NewTokens, rows: readonly number[], signal: AbortSignal | undefined): Promise<Float32Array> {
    return this.write(tokens, rows, (logits) => logits, signal);
  }

  private async write(
    { sequence, tokens }: NewTokens,
    rows: readonly number[],
    finish: (logits: Tensor) => Tensor,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    const { backend, decoder } = this.model;
    sequence.append(tokens.length);
    using step = backend.step();
    const batch = this.batch(step, [{ sequence, tokens }]);
    const x = decoder.hidden(step.input(Int32Array.from(tokens)), batch, this.caches);
    const wanted = finish(decoder.logits(backend.gatherRows(x, step.input(Int32Array.from(rows)))));
    await nextTurn();
    await step.run(signal ? { signal } : {});
    return (await step.read(wanted)) as Float32Array;
  }

  /** Appends one token to each of some texts; gives the probabilities of what follows them, [S, V], until the next call. Rejects with BAD_LOGITS. */
  async next(
    sequences: readonly KvSequence[],
    tokens: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    for (const sequence of sequences) sequence.append(1);
    const { graph } = this;
    if (!graph) return this.checked(await this.nextRecorded(sequences, tokens, signal));
    let captured = this.graphs.get(sequences.length);
    if (!captured) {
      captured = await StepGraph.capture(this, graph, sequences);
      this.graphs.set(sequences.length, captured);
    }
    return this.checked(await captured.run(sequences, tokens, signal));
  }

  private checked(probabilities: Float32Array): Float32Array {
    needProbabilities(probabilities, this.model.config.vocabulary);
    return probabilities;
  }

  private async nextRecorded(
    sequences: readonly KvSequence[],
    tokens: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    using step = this.model.backend.step();
    const { probabilities } = this.record(step, sequences, tokens);
    await step.run(signal ? { signal } : {});
    return (await step.read(probabilities)) as Float32Array;
  }

  /** Records a step of one token of each text, already appended. */
  record(
    step: ReturnType<WhisperModel['backend']['step']>,
    sequences: readonly KvSequence[],
    tokens: readonly number[],
  ): { readonly ids: Tensor; readonly batch: DecoderBatch; readonly probabilities: Tensor } {
    const { backend, decoder } = this.model;
    const ids = step.input(Int32Array.from(tokens));
    const batch = this.batch(
      step,
      sequences.map((sequence, i) => ({ sequence, tokens: [tokens[i]!] })),
    );
    const logits = decoder.logits(decoder.hidden(ids, batch, this.caches)); // [S, V]
    return { ids, batch, probabilities: backend.softmax(logits) };
  }

  /** What a step of these rows must know of both caches. */
  batch(step: ReturnType<WhisperModel['backend']['step']>, rows: readonly NewTokens[]): DecoderBatch {
    const entries = rows.map(({ sequence, tokens }) => ({ sequence, rows: tokens.length }));
    const text = inputBatch(step, this.text.describe(entries));
    const windows = this.model.config.encoder.context;
    return {
      text,
      sound: {
        cuSeqlens: text.cuSeqlens,
        kvLengths: step.input(new Int32Array(rows.length).fill(windows)),
        blockTable: step.input(new Int32Array(rows.length), [rows.length, 1]),
      },
    };
  }

  get caches() {
    return { text: this.text, sound: this.sound };
  }

  dispose(): void {
    for (const graph of this.graphs.values()) graph.dispose();
    this.text.dispose();
    this.sound.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
