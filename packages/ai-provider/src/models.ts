import { NoSuchModelError } from '@ai-sdk/provider';
import type { Embedder, Model, SpeechModel } from '@quern/runtime';

/** Loaded models by the names that the application uses. */
export type QuernModels = Readonly<Record<string, Model | Embedder | SpeechModel>>;

interface Kinds {
  readonly generation: Model;
  readonly embedding: Embedder;
  readonly speech: SpeechModel;
}

/** The types of the SDK's models, and the kind of model that each needs. */
const kindFor = {
  languageModel: 'generation',
  embeddingModel: 'embedding',
  rerankingModel: 'embedding',
  transcriptionModel: 'speech',
} as const satisfies Record<string, keyof Kinds>;

type ModelType = keyof typeof kindFor;

/** By its methods: a model may come from another copy of the runtime. */
function kindOf(model: QuernModels[string]): keyof Kinds {
  if ('generate' in model) return 'generation';
  return 'embed' in model ? 'embedding' : 'speech';
}

/** @throws NoSuchModelError for an unknown name, and for a model of another kind */
export function modelFor<Type extends ModelType>(
  models: QuernModels,
  modelType: Type,
  modelId: string,
): Kinds[(typeof kindFor)[Type]] {
  const kind = kindFor[modelType];
  const model = Object.hasOwn(models, modelId) ? models[modelId] : undefined;
  const fault = model
    ? kindOf(model) !== kind &&
      `"${modelId}" is a model for ${kindOf(model)}; ${modelType} needs one for ${kind}`
    : `there is no model "${modelId}"; createQuern was given ${namesOf(models)}`;
  if (fault) throw new NoSuchModelError({ modelId, modelType, message: `[${modelType}] ${fault}` });
  return model as Kinds[(typeof kindFor)[Type]];
}

const namesOf = (models: QuernModels): string =>
  Object.keys(models)
    .map((name) => `"${name}"`)
    .join(', ') || 'none';
