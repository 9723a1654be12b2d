import type { RerankingModelV3, RerankingModelV3CallOptions, SharedV3Warning } from '@ai-sdk/provider';
import type { Embedder, TextsOptions } from '@quern/runtime';
import { type Names, ownOptions } from './own-options.js';
import { truncated } from './truncated.js';

const names: Names<Pick<TextsOptions, 'maxTokens' | 'truncate'>> = { maxTokens: true, truncate: true };

/** A cross-encoder of the runtime for `rerank`. */
export class QuernRerankingModel implements RerankingModelV3 {
  readonly specificationVersion = 'v3';

  constructor(
    readonly provider: string,
    readonly modelId: string,
    private readonly model: Embedder,
  ) {}

  async doRerank(call: RerankingModelV3CallOptions) {
    const { documents, query, topN, abortSignal: signal, providerOptions } = call;
    const texts =
      documents.type === 'text' ? documents.values : documents.values.map((value) => JSON.stringify(value));
    const options = { ...ownOptions(providerOptions, names), signal };
    const result = await this.model.rerank(query, texts, options);
    const ranking = result.ranked
      .slice(0, topN)
      .map(({ index, score }) => ({ index, relevanceScore: score }));
    return { ranking, warnings: [...(documents.type === 'text' ? [] : [asJson]), ...truncated(result)] };
  }
}

const asJson: SharedV3Warning = {
  type: 'compatibility',
  feature: 'documents that are objects',
  details: 'the model reads them as JSON text',
};
