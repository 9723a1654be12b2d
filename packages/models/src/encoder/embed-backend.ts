import { has } from '@quern/core';
import { CapturedTexts, type EncoderHead, rowsOf } from './captured-texts.js';
import type { EncodedText, EncoderModel } from './encoder-model.js';

/** What embeds texts: any encoder on any backend. */
export interface EmbedBackend {
  /** D, numbers of an embedding. */
  readonly dimensions: number;
  /** Most tokens of one text. */
  readonly maxTokens: number;
  /** Most tokens of all texts of one call: beyond it the machine computes no faster, and an abort waits longer. */
  readonly maxBatch: number;
  /** The embeddings of some texts, one after another: [S · D]. Rejects with ModelError BAD_ARGUMENT; BackendError ABORTED, OUT_OF_MEMORY, DISPOSED. */
  embedBatch(texts: readonly EncodedText[], options?: BatchOptions): Promise<Float32Array>;
  /** The classifier's logits of some texts: [S · labels]. Rejects besides with ModelError MISSING_WEIGHT where there is none. */
  classifyBatch(texts: readonly EncodedText[], options?: BatchOptions): Promise<Float32Array>;
  /** Another one over the same weights, which stay until the last of them is disposed. */
  replica(): EmbedBackend;
  /** Disposing twice is harmless. */
  dispose(): void;
  [Symbol.dispose](): void;
}

export interface BatchOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Tokens of a step, or of one text where it may have more. */
const rowsOfStep = 1024;

/** Any encoder on any backend as an EmbedBackend. It owns the model. */
export function embedBackend(model: EncoderModel): EmbedBackend {
  return new EncoderReplica(model, { count: 0 });
}

class EncoderReplica implements EmbedBackend {
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly maxBatch: number;
  private readonly captured: CapturedTexts | undefined;
  private disposed = false;

  constructor(
    private readonly model: EncoderModel,
    private readonly replicas: { count: number },
  ) {
    this.dimensions = model.config.width;
    this.maxTokens = model.config.context;
    this.maxBatch = Math.max(rowsOfStep, this.maxTokens);
    if (has(model.backend, 'graph')) this.captured = new CapturedTexts(model, model.backend.graph);
    replicas.count++;
  }

  embedBatch(texts: readonly EncodedText[], options: BatchOptions = {}): Promise<Float32Array> {
    return this.compute('embed', texts, options);
  }

  classifyBatch(texts: readonly EncodedText[], options: BatchOptions = {}): Promise<Float32Array> {
    return this.compute('classify', texts, options);
  }

  replica(): EmbedBackend {
    return new EncoderReplica(this.model, this.replicas);
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.captured?.dispose();
    if (--this.replicas.count === 0) this.model.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private async compute(
    head: EncoderHead,
    texts: readonly EncodedText[],
    { signal }: BatchOptions,
  ): Promise<Float32Array> {
    if (texts.length === 0) return new Float32Array(0);
    if (rowsOf(texts) <= rowsOfStep && this.captured?.comesAgain(head, texts))
      return this.captured.compute(head, texts, signal);
    using step = this.model.backend.step();
    const y = this.model[head](step, texts);
    await step.run(signal ? { signal } : {});
    return Float32Array.from((await step.read(y)) as Float32Array);
  }
}
