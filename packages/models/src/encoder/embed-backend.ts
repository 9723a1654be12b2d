import { RepeatedStep, StepCache, type StepRecipe } from '@quern/core';
import { type EncodedText, type EncoderArrays, type EncoderModel, encoderInputs } from './encoder-model.js';

/** Embeds texts: any encoder on any backend. */
export interface EmbedBackend {
  /** Elements of an embedding. */
  readonly dimensions: number;
  /** Most tokens of one text. */
  readonly maxTokens: number;
  /** Most tokens of all texts of a call. Larger calls are no faster, and abort later. */
  readonly maxBatch: number;
  /** Calls that keep the device busy at the same time. */
  readonly callsInFlight: number;
  /**
   * The embeddings of S texts: [S · dimensions]. Rejects with ModelError BAD_ARGUMENT; BackendError ABORTED, OUT_OF_MEMORY,
   * DISPOSED.
   */
  embedBatch(texts: readonly EncodedText[], options?: BatchOptions): Promise<Float32Array>;
  /**
   * The classifier's logits of S texts: [S · labels]. Also rejects with ModelError MISSING_WEIGHT if the file has no
   * classifier.
   */
  classifyBatch(texts: readonly EncodedText[], options?: BatchOptions): Promise<Float32Array>;
  /** Another `EmbedBackend` over the same weights. The last disposed replica frees the weights. */
  replica(): EmbedBackend;
  /** Disposing twice is harmless. */
  dispose(): void;
  [Symbol.dispose](): void;
}

export interface BatchOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The result per text. */
type EncoderHead = 'embed' | 'classify';

/** Most tokens of a step that is captured. */
const mostCaptured = 1024;

/** Most tokens of a step, for texts of at most `context` tokens; a longer text has a step of its own. */
export const rowsOfStep = (context: number): number => Math.max(mostCaptured, Math.min(context, 8192));

/**
 * Captured steps, one per pair (texts, tokens). Most sizes come only once, and capturing costs more than recording: a
 * size is captured when it comes the second time.
 */
const limits = { steps: 32, rows: 4096, capture: 'second' } as const;

/** Wraps an encoder model as `EmbedBackend`, which then owns the model. */
export function embedBackend(model: EncoderModel): EmbedBackend {
  return new EncoderReplica(model, { count: 0 });
}

class EncoderReplica implements EmbedBackend {
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly maxBatch: number;
  readonly callsInFlight: number;
  private readonly steps: StepCache<EncoderArrays>;
  private disposed = false;

  constructor(
    private readonly model: EncoderModel,
    private readonly replicas: { count: number },
  ) {
    this.dimensions = model.dimensions;
    this.maxTokens = model.config.context;
    this.maxBatch = rowsOfStep(this.maxTokens);
    this.callsInFlight = model.backend.profile.plansInFlight ?? 1;
    this.steps = new StepCache<EncoderArrays>({ ...limits, copies: this.callsInFlight });
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
    this.steps.dispose();
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
    const arrays = this.model.arrays(texts);
    const rows = arrays.ids.length;
    const recipe = () => this.recipe(head, arrays);
    const run = async (step: RepeatedStep<EncoderArrays>): Promise<Float32Array> => {
      for (const [name, values] of Object.entries(arrays)) {
        const key = name as keyof EncoderArrays;
        step.arrays[key]!.set(values);
        step.write(key);
      }
      await step.run(signal);
      return Float32Array.from(step.read('y') as Float32Array);
    };
    if (rows > mostCaptured) return run(RepeatedStep.recorded(recipe()));
    return this.steps.use({ key: `${head} ${rows} ${texts.length}`, rows }, recipe, run);
  }

  private recipe(head: EncoderHead, arrays: EncoderArrays): StepRecipe<EncoderArrays> {
    const { model } = this;
    const { backend } = model;
    return {
      arrays,
      parts: [
        {
          backend,
          graph: backend.graph,
          record: (_step, input) => {
            const inputs = encoderInputs(arrays, input);
            return {
              outputs: { y: head === 'embed' ? model.embedInputs(inputs) : model.classifyInputs(inputs) },
            };
          },
        },
      ],
    };
  }
}
