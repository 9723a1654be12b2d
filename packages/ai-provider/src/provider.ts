import {
  type EmbeddingModelV3,
  type LanguageModelV3,
  NoSuchModelError,
  type ProviderV3,
  type RerankingModelV3,
  type TranscriptionModelV3,
} from '@ai-sdk/provider';
import { QuernEmbeddingModel } from './embedding-model.js';
import { QuernLanguageModel } from './language-model.js';
import { modelFor, type QuernModels } from './models.js';
import { QuernRerankingModel } from './reranking-model.js';
import { QuernTranscriptionModel } from './transcription-model.js';

export interface QuernSettings {
  /** Loaded models by the names that the application uses; of one or more kinds. The caller disposes them. */
  readonly models: QuernModels;
}

/** A provider for the AI SDK. All methods throw NoSuchModelError for a name that has no model of the kind. */
export interface QuernProvider extends ProviderV3 {
  /** The same as `languageModel`. */
  (modelId: string): LanguageModelV3;
  languageModel(modelId: string): LanguageModelV3;
  embeddingModel(modelId: string): EmbeddingModelV3;
  /** The same as `embeddingModel`, under its older name. */
  textEmbeddingModel(modelId: string): EmbeddingModelV3;
  rerankingModel(modelId: string): RerankingModelV3;
  transcriptionModel(modelId: string): TranscriptionModelV3;
}

/** A provider over models in this process: no server, no HTTP. */
export function createQuern({ models }: QuernSettings): QuernProvider {
  const languageModel = (id: string) =>
    new QuernLanguageModel('quern.chat', id, modelFor(models, 'languageModel', id));
  const embeddingModel = (id: string) =>
    new QuernEmbeddingModel('quern.embedding', id, modelFor(models, 'embeddingModel', id));
  return Object.assign((id: string) => languageModel(id), {
    specificationVersion: 'v3' as const,
    languageModel,
    embeddingModel,
    textEmbeddingModel: embeddingModel,
    rerankingModel: (id: string) =>
      new QuernRerankingModel('quern.reranking', id, modelFor(models, 'rerankingModel', id)),
    transcriptionModel: (id: string) =>
      new QuernTranscriptionModel('quern.transcription', id, modelFor(models, 'transcriptionModel', id)),
    imageModel: noImages,
  });
}

function noImages(modelId: string): never {
  const message = '[imageModel] Quern runs no image models';
  throw new NoSuchModelError({ modelId, modelType: 'imageModel', message });
}
