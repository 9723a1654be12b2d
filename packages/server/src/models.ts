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

/** What clients may name. */
export interface Offer {
  readonly models: ServedModels;
  /** Further names of models and adapters. */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
  /** A name that nothing has means the first model of the kind that a route needs. */
  readonly anyModel?: boolean | undefined;
}

/** A model and the name that answers give it. */
export interface NamedModel<Kind extends ModelKindName> {
  /** As the request named it, but for Ollama's `:latest`: clients compare it, or look up limits and prices by it. */
  readonly name: string;
  /** The name of the model or adapter itself, in metrics: clients do not choose it. */
  readonly ownName: string;
  readonly model: Kinds[Kind];
  /** The adapter that the request named as its model. */
  readonly adapters?: string | undefined;
  /** How drafts are made for free text. */
  readonly speculate?: SpeculateOptions | undefined;
}

/** The model for a text that a request names. @throws ApiError as `modelFor` */
export const generatorFor = (
  offer: Offer & Pick<NamedModel<'generation'>, 'speculate'>,
  name: string | undefined,
): NamedModel<'generation'> => ({ ...modelFor(offer, 'generation', name), speculate: offer.speculate });

/**
 * The model that a request names. Without a name: the only model of this kind.
 * @throws ApiError 404 for an unknown name, 400 for a model of another kind
 */
export function modelFor<Kind extends ModelKindName>(
  offer: Offer,
  kind: Kind,
  name: string | undefined,
): NamedModel<Kind> {
  const { models, anyModel } = offer;
  const fitting = Object.keys(models).filter((each) => kindOf(models[each]!) === kind);
  const first = fitting.length === 1 || anyModel ? fitting[0] : undefined;
  const chosen = name === undefined ? first : servedName(offer, name);
  if (fitting.length === 0 && name === undefined) throw noneOf(models, kind);
  if (chosen === undefined)
    throw new ApiError(400, `name a model: there are ${fitting.join(', ')}`, 'model', 'missing');
  const ownName = ownNameOf(offer, chosen);
  const found =
    namedModel(models, kind, ownName) ?? (anyModel && first ? namedModel(models, kind, first) : undefined);
  if (!found) throw noModel(offer, chosen);
  return { ...found, name: chosen };
}

/** The name that an alias stands for. */
const ownNameOf = ({ aliases = {} }: Offer, name: string): string =>
  Object.hasOwn(aliases, name) ? aliases[name]! : name;

/** @throws ApiError 400 for a model of another kind */
function namedModel<Kind extends ModelKindName>(
  models: ServedModels,
  kind: Kind,
  name: string,
): NamedModel<Kind> | undefined {
  const model = Object.hasOwn(models, name) ? models[name] : undefined;
  if (!model) {
    const adapted = kind === 'generation' ? adaptedModel(models, name) : undefined;
    return adapted && { name, ownName: name, model: adapted as Kinds[Kind], adapters: name };
  }
  if (kindOf(model) !== kind)
    throw new ApiError(
      400,
      `"${name}" is a model for ${kindOf(model)}; this route needs one for ${kind}`,
      'model',
      'wrong_kind',
    );
  return { name, ownName: name, model: model as Kinds[Kind] };
}

const tag = ':latest';

const untagged = (name: string): string => (name.endsWith(tag) ? name.slice(0, -tag.length) : name);

/** The name of a model, adapter or alias with or without Ollama's `:latest`, which mean the same. */
export function servedName({ models, aliases = {} }: Offer, name: string): string {
  const other = name.endsWith(tag) ? untagged(name) : name + tag;
  const isKnown = (each: string) =>
    Object.hasOwn(models, each) || Object.hasOwn(aliases, each) || adaptedModel(models, each) !== undefined;
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

/** The adapters of all models. */
export const adapterNames = (models: ServedModels): readonly string[] =>
  generators(models).flatMap(([, model]) => model.adapters.map((each) => each.name));

function noModel({ models, aliases = {} }: Offer, name: string): ApiError {
  const known = [...Object.keys(models), ...adapterNames(models), ...Object.keys(aliases)].join(', ');
  return new ApiError(404, `there is no model "${name}"; there are ${known}`, 'model', 'model_not_found');
}
