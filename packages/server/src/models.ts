import type { Embedder, Model, SpeechModel } from '@quern/runtime';
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

/** By its methods: a model may come from another copy of the runtime. */
export function kindOf(model: ServedModel): ModelKindName {
  if ('generate' in model) return 'generation';
  return 'embed' in model ? 'embedding' : 'speech';
}

/** A model and the name that answers give it. */
export interface NamedModel<Kind extends ModelKindName> {
  readonly name: string;
  readonly model: Kinds[Kind];
}

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
  const chosen = name ?? (fitting.length === 1 ? fitting[0]! : undefined);
  if (chosen === undefined)
    throw new ApiError(400, `name a model: there are ${fitting.join(', ') || 'none'}`, 'model', 'missing');
  const model = Object.hasOwn(models, chosen) ? models[chosen] : undefined;
  if (!model)
    throw new ApiError(
      404,
      `there is no model "${chosen}"; there are ${Object.keys(models).join(', ')}`,
      'model',
      'model_not_found',
    );
  if (kindOf(model) !== kind)
    throw new ApiError(
      400,
      `"${chosen}" is a model for ${kindOf(model)}; this route needs one for ${kind}`,
      'model',
      'wrong_kind',
    );
  return { name: chosen, model: model as Kinds[Kind] };
}
