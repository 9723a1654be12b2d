import { rules } from '@quern/core';
import { type Embedder, exampleModels, type Model, type SpeechModel } from '@quern/runtime';

/** A model that a server offers. */
export type ServedModel = Model | Embedder | SpeechModel;

/** Models by the names that clients use. */
export type ServedModels = Readonly<Record<string, ServedModel>>;

/** The class of each kind. */
export interface Kinds {
  readonly generation: Model;
  readonly embedding: Embedder;
  readonly speech: SpeechModel;
}

export type ModelKindName = keyof Kinds;

const methods = ['generate', 'embed', 'transcribe'] as const;

/** By its methods, as `kindOf`. */
export const isServedModel = (value: unknown): value is ServedModel =>
  rules.isObject(value) && methods.some((name) => typeof value[name] === 'function');

/** By its methods: a model may come from another copy of the runtime. */
export function kindOf(model: ServedModel): ModelKindName {
  if ('generate' in model) return 'generation';
  return 'embed' in model ? 'embedding' : 'speech';
}

/** A model of each kind, for messages. */
export const exampleOf: Readonly<Record<ModelKindName, string>> = {
  generation: exampleModels.language,
  embedding: exampleModels.encoder,
  speech: exampleModels.speech,
};
