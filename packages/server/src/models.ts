import { rules } from '@quern/core';
import type { Embedder, Model, SpeculateOptions, SpeechModel } from '@quern/runtime';
import { ApiError } from './errors.js';

/** A model that a server offers. */
export type ServedModel = Model | Embedder | SpeechModel;

/** Models by the names that clients use. */
export type ServedModels = Readonly<Record<string, ServedModel>>;

interface Kinds {
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

/** A model and the name that answers give it. */
export interface NamedModel<Kind extends ModelKindName> {
  readonly name: string;
  readonly model: Kinds[Kind];
  /** The adapter that the request named as its model. */
  readonly adapters?: string | undefined;
  /** How drafts are made for free text. */
  readonly speculate?: SpeculateOptions | undefined;
}

/** The model for a text that a request names. @throws ApiError as `modelFor` */
export const generatorFor = (
  { models, speculate }: { readonly models: ServedModels } & Pick<NamedModel<'generation'>, 'speculate'>,
  name: string | undefined,
): NamedModel<'generation'> => ({ ...modelFor(models, 'generation', name), speculate });

/**
 * The model that a request names. Without a name: the only model of this kind.
 * @throws ApiError 404 for an unknown name, 400 for a model of another kind
 */
export function modelFor<Kind extends ModelKindName>(
  models: ServedModels,
  kind: Kind,
  name: string | undefined,
): NamedModel<Kind> {
  const fitting = Object.keys(models).filter((each) => kindOf(models[each]!) === kind);
  const chosen = name === undefined ? onlyOne(fitting) : servedName(models, name);
  if (fitting.length === 0 && name === undefined) throw noneOf(models, kind);
  if (chosen === undefined)
    throw new ApiError(400, `name a model: there are ${fitting.join(', ')}`, 'model', 'missing');
  const model = Object.hasOwn(models, chosen) ? models[chosen] : undefined;
  if (!model) {
    const adapted = kind === 'generation' && adaptedModel(models, chosen);
    if (adapted) return { name: chosen, model: adapted as Kinds[Kind], adapters: chosen };
    throw noModel(models, chosen);
  }
  if (kindOf(model) !== kind)
    throw new ApiError(
      400,
      `"${chosen}" is a model for ${kindOf(model)}; this route needs one for ${kind}`,
      'model',
      'wrong_kind',
    );
  return { name: chosen, model: model as Kinds[Kind] };
}

const onlyOne = <T>(values: readonly T[]): T | undefined => (values.length === 1 ? values[0] : undefined);

const tag = ':latest';

/** The name of a model or adapter with or without Ollama's `:latest`, which mean the same. */
export function servedName(models: ServedModels, name: string): string {
  const other = name.endsWith(tag) ? name.slice(0, -tag.length) : name + tag;
  const isKnown = (each: string) => Object.hasOwn(models, each) || adaptedModel(models, each) !== undefined;
  return !isKnown(name) && isKnown(other) ? other : name;
}

function noneOf(models: ServedModels, kind: ModelKindName): ApiError {
  const served = Object.entries(models).map(([name, model]) => `${name} (${kindOf(model)})`);
  const message = `this server has no model for ${kind}, which this route needs; it has ${served.join(', ') || 'none'}`;
  return new ApiError(400, message, 'model', 'missing');
}

/** The models that generate, by name. */
export const generators = (models: ServedModels): readonly (readonly [string, Model])[] =>
  Object.entries(models).flatMap(([name, model]) =>
    kindOf(model) === 'generation' ? [[name, model as Model] as const] : [],
  );

/** The first model that has an adapter of this name. */
const adaptedModel = (models: ServedModels, adapter: string): Model | undefined =>
  generators(models).find(([, { adapters }]) => adapters.some(({ name }) => name === adapter))?.[1];

function noModel(models: ServedModels, name: string): ApiError {
  const adapters = generators(models).flatMap(([, model]) => model.adapters.map((each) => each.name));
  const known = [...Object.keys(models), ...adapters].join(', ');
  return new ApiError(404, `there is no model "${name}"; there are ${known}`, 'model', 'model_not_found');
}
