import type { EmbeddingModelV3, EmbeddingModelV3CallOptions, EmbeddingModelV3Result } from '@ai-sdk/provider';
import type { Embedder, EmbedOptions } from '@quern/runtime';
import { type Names, ownOptions } from './own-options.js';
import { truncated } from './truncated.js';

/** Options of `providerOptions.quern` for embedding models. */
export type EmbeddingModelOptions = Pick<
  EmbedOptions,
  'maxTokens' | 'truncate' | 'prompt' | 'prefix' | 'dimensions'
>;

const names: Names<EmbeddingModelOptions> = {
  maxTokens: true,
  truncate: true,
  prompt: true,
  prefix: true,
  dimensions: true,
};

/** An encoder of the runtime for `embed` and `embedMany`. One call takes any number of texts. */
export class QuernEmbeddingModel implements EmbeddingModelV3 {
  readonly specificationVersion = 'v3';
  readonly maxEmbeddingsPerCall = undefined;
  readonly supportsParallelCalls = true;

  constructor(
    readonly provider: string,
    readonly modelId: string,
    private readonly model: Embedder,
  ) {}

  async doEmbed(call: EmbeddingModelV3CallOptions): Promise<EmbeddingModelV3Result> {
    const { values: texts, abortSignal: signal, providerOptions } = call;
    const result = await this.model.embed(texts, {
      ...ownOptions<EmbeddingModelOptions>(providerOptions, names),
      signal,
    });
    const { values, dimensions, tokens } = result;
    const row = (index: number) => Array.from(values.subarray(index * dimensions, (index + 1) * dimensions));
    return {
      embeddings: texts.map((_, index) => row(index)),
      usage: { tokens },
      warnings: truncated(result),
    };
  }
}
