import type { Model } from '@quern/runtime';
import { ApiError } from './errors.js';
import { exampleOf, kindOf, type ModelKindName } from './kinds.js';
import type { PooledModel } from './pool/entry.js';
import type { ModelPool } from './pool/pool.js';

/** What clients may name. */
export interface Offer {
  readonly pool: ModelPool;
  /** Further names of models and adapters. */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
  /** A name that nothing has means the first model of the kind that a route needs. */
  readonly anyModel?: boolean | undefined;
}

/** A model that a request names. */
export interface ChosenModel {
  /** As the request named it, but for Ollama's `:latest`: clients compare it, or look up limits and prices by it. */
  readonly name: string;
  /** The name of the model or adapter itself, in metrics: clients do not choose it. */
  readonly ownName: string;
  readonly pooled: PooledModel;
  /** The adapter that the request named as its model. */
  readonly adapters?: string | undefined;
}

/**
 * The model that a request names, loaded or not. Without a name: the only one of this kind.
 * @throws ApiError 404 for an unknown name, 400 for a model of another kind
 */
export function chosenModel(offer: Offer, kind: ModelKindName, name: string | undefined): ChosenModel {
  const { pool, anyModel } = offer;
  const fitting = pool.models.filter((each) => each.kind === kind).map((each) => each.name);
  const first = fitting.length === 1 || anyModel ? fitting[0] : undefined;
  const chosen = name === undefined ? first : servedName(offer, name);
  if (fitting.length === 0 && name === undefined) throw noneOf(pool, kind);
  if (chosen === undefined)
    throw new ApiError(400, `name a model: ${fitting.join(', ')}`, 'model', 'missing');
  const ownName = ownNameOf(offer, chosen);
  const found = named(pool, kind, ownName) ?? (anyModel && first ? named(pool, kind, first) : undefined);
  if (!found) throw noModel(offer, chosen);
  return { ...found, name: chosen };
}

/** The name that an alias stands for. */
const ownNameOf = ({ aliases = {} }: Offer, name: string): string =>
  Object.hasOwn(aliases, name) ? aliases[name]! : name;

/** @throws ApiError 400 for a model of another kind */
function named(pool: ModelPool, kind: ModelKindName, name: string): ChosenModel | undefined {
  const pooled = pool.find(name);
  if (!pooled) {
    const adapted = kind === 'generation' ? adaptedModel(pool, name) : undefined;
    return adapted && { name, ownName: name, pooled: adapted, adapters: name };
  }
  if (pooled.kind !== kind)
    throw new ApiError(
      400,
      `"${name}" is a model for ${pooled.kind}; this route needs one for ${kind}: ${serveOne(kind)}`,
      'model',
      'wrong_kind',
    );
  return { name, ownName: name, pooled };
}

const tag = ':latest';

const untagged = (name: string): string => (name.endsWith(tag) ? name.slice(0, -tag.length) : name);

/** The name of a model, adapter or alias with or without Ollama's `:latest`, which mean the same. */
export function servedName({ pool, aliases = {} }: Offer, name: string): string {
  const other = name.endsWith(tag) ? untagged(name) : name + tag;
  const isKnown = (each: string) =>
    pool.find(each) !== undefined || Object.hasOwn(aliases, each) || adaptedModel(pool, each) !== undefined;
  return !isKnown(name) && isKnown(other) ? other : name;
}

/** What the operator of the server can do. */
const serveOne = (kind: ModelKindName): string => `serve one too, such as ${exampleOf[kind]}`;

function noneOf(pool: ModelPool, kind: ModelKindName): ApiError {
  const served = pool.models.map((each) => `${each.name} (${each.kind})`);
  const message = `this server has no model for ${kind}, which this route needs; it has ${served.join(', ') || 'none'}: ${serveOne(kind)}`;
  return new ApiError(400, message, 'model', 'missing');
}

/** The loaded models that generate, by name. */
export const generators = (pool: ModelPool): readonly (readonly [string, Model])[] =>
  pool.models.flatMap(({ name, model }) =>
    model && kindOf(model) === 'generation' ? [[name, model as Model] as const] : [],
  );

/** The first model that has an adapter of this name. */
const adaptedModel = (pool: ModelPool, adapter: string): PooledModel | undefined =>
  pool.models.find(({ adapters }) => adapters.includes(adapter));

/** The adapters of all models. */
export const adapterNames = (pool: ModelPool): readonly string[] =>
  pool.models.flatMap(({ adapters }) => adapters);

/** All that clients may name. */
export const knownNames = ({ pool, aliases = {} }: Offer): readonly string[] => [
  ...pool.models.map(({ name }) => name),
  ...adapterNames(pool),
  ...Object.keys(aliases),
];

function noModel(offer: Offer, name: string): ApiError {
  const known = knownNames(offer).join(', ');
  return new ApiError(404, `there is no model "${name}"; known models: ${known}`, 'model', 'model_not_found');
}
