import {
  contiguousKvCache,
  type Graph,
  type KvCache,
  type KvSequence,
  need,
  type Step,
  StepCache,
  type StepPart,
  type StepRecipe,
  type Tensor,
  writeBatch,
  yieldToEventLoop,
} from '@quern/core';
import type { WhisperModel } from '@quern/models';
import { needProbabilities } from '../broken-numbers.js';
import { type DecoderArrays, decoderArrays, decoderInputs, type NewTokens } from './decoder-inputs.js';

/** A text and its new tokens. */
export type NewText = Omit<NewTokens, 'start'>;

/** Most captured steps kept (one per number of texts), and most rows of all kept steps together. */
const limits = { steps: 16, rows: 128 } as const;

/**
 * A transcription's state on the backend: keys and values of the current window's sound, and of the texts in progress.
 */
export class SpeechSession {
  private readonly steps = new StepCache<DecoderArrays>(limits);

  private constructor(
    readonly model: WhisperModel,
    private readonly graph: Graph | undefined,
    private readonly text: KvCache,
    private readonly sound: KvCache,
  ) {}

  /**
   * Allocates room for `texts` concurrent texts.
   * @throws BackendError OUT_OF_MEMORY, UNSUPPORTED (a backend without pagedKv)
   */
  static open(model: WhisperModel, texts: number, graph: Graph | undefined): SpeechSession {
    const { backend, config } = model;
    const { layers, heads: kvHeads, headDim, context } = config.decoder;
    const options = { layers, kvHeads, headDim, dtype: 'f16' } as const;
    need(backend, 'pagedKv');
    // Blocks of one token: forked texts share their whole common prefix.
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

  /**
   * Encodes a window of log-mel frames [2n, M], n: the encoder's context. Returns the hidden states [n, D] if `keep`.
   */
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
    await yieldToEventLoop();
    decoder.listen(encoded, this.sound, positions);
    if (keep) step.keep(encoded);
    await yieldToEventLoop();
    await step.run(signal ? { signal } : {});
    return keep ? ((await step.read(encoded)) as Float32Array) : undefined;
  }

  /**
   * Appends tokens to a text. Returns the probabilities [R, V] after the given rows, counted from the first new token.
   * Rejects with BAD_LOGITS.
   */
  async begin(
    text: NewText,
    rows: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    const softmax = (logits: Tensor) => this.model.backend.softmax(logits);
    return this.checked(await this.write(text, rows, softmax, signal));
  }

  /** As `begin`, but returns unchecked logits [R, V]. */
  logits(text: NewText, rows: readonly number[], signal: AbortSignal | undefined): Promise<Float32Array> {
    return this.write(text, rows, (logits) => logits, signal);
  }

  private async write(
    { sequence, tokens }: NewText,
    rows: readonly number[],
    finish: (logits: Tensor) => Tensor,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    const { backend, decoder } = this.model;
    sequence.append(tokens.length);
    using step = backend.step();
    const { ids, batch } = this.inputs(step, { sequence, tokens });
    const x = decoder.hidden(ids, batch, this.caches);
    const wanted = finish(decoder.logits(backend.gatherRows(x, step.input(Int32Array.from(rows)))));
    await yieldToEventLoop();
    await step.run(signal ? { signal } : {});
    return (await step.read(wanted)) as Float32Array;
  }

  /**
   * Appends one token to each text. Returns the probabilities of the next tokens, [S, V], valid until the next call.
   * Rejects with BAD_LOGITS.
   */
  async next(
    sequences: readonly KvSequence[],
    tokens: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    for (const sequence of sequences) sequence.append(1);
    const rows = sequences.map((sequence, i) => ({
      sequence,
      start: sequence.length - 1,
      tokens: [tokens[i]!],
    }));
    const key = { key: `${rows.length}`, rows: rows.length };
    return this.steps.use(
      key,
      () => this.recipe(rows),
      async (step) => {
        step.arrays.ids.set(tokens);
        step.write('ids');
        writeBatch(step, rows);
        await step.run(signal);
        return this.checked(step.read('probabilities') as Float32Array); // [S, V]
      },
    );
  }

  /** The last tokens of a text, as inputs of a step. */
  inputs(step: Step, { sequence, tokens }: NewText): ReturnType<typeof decoderInputs> {
    const arrays = this.arrays([{ sequence, start: sequence.length - tokens.length, tokens }]);
    return decoderInputs((name, shape) => step.input(arrays[name], shape), arrays);
  }

  private checked(probabilities: Float32Array): Float32Array {
    needProbabilities(probabilities, this.model.config.vocabulary);
    return probabilities;
  }

  /** The step that appends one token to each text. */
  private recipe(rows: readonly NewTokens[]): StepRecipe<DecoderArrays> {
    const { backend, decoder } = this.model;
    const arrays = this.arrays(rows);
    const part: StepPart<DecoderArrays> = {
      backend,
      graph: this.graph,
      record: (_step, input) => {
        const { ids, batch } = decoderInputs(input, arrays);
        const logits = decoder.logits(decoder.hidden(ids, batch, this.caches)); // [S, V]
        return { outputs: { probabilities: backend.softmax(logits) } };
      },
    };
    return { arrays, parts: [part] };
  }

  private arrays(rows: readonly NewTokens[]): DecoderArrays {
    return decoderArrays(this.text, rows, this.model.config.encoder.context);
  }

  get caches() {
    return { text: this.text, sound: this.sound };
  }

  dispose(): void {
    this.steps.dispose();
    this.text.dispose();
    this.sound.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
