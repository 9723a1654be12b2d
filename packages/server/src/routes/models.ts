import type { Model } from '@quern/runtime';
import type { Context } from 'hono';
import type { ServerContext } from '../context.js';
import { generators, kindOf, modelFor, type ServedModel, servedName } from '../models.js';

const created = Math.floor(Date.now() / 1000);

const describe = (name: string, model: ServedModel) => ({
  id: name,
  object: 'model',
  created,
  owned_by: 'quern',
  kind: kindOf(model),
  ...('context' in model && { max_model_len: model.context }),
  ...('plan' in model && { backend: model.backend, plan: model.plan.ranges }),
});

/** The adapters of a model: clients name them as models. */
const adaptersOf = ([parent, model]: readonly [string, Model]) =>
  model.adapters.map(({ name, rank }) => ({ ...describe(name, model), parent, adapter: { rank } }));

/** GET /v1/models */
export const listModels = ({ options }: ServerContext): Response =>
  Response.json({
    object: 'list',
    data: [
      ...Object.entries(options.models).map(([name, model]) => describe(name, model)),
      ...generators(options.models).flatMap(adaptersOf),
    ],
  });

/** Text with a wrong escape ('%zz') stays as it is: no model has such a name. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** GET /v1/models/:name */
export function showModel(context: Context, { options }: ServerContext): Response {
  const { models } = options;
  const name = servedName(models, decoded(context.req.path.slice('/v1/models/'.length)));
  if (Object.hasOwn(models, name)) return Response.json(describe(name, models[name]!));
  modelFor(models, 'generation', name); // throws 404
  const adapters = generators(models).flatMap(adaptersOf);
  return Response.json(adapters.find(({ id }) => id === name));
}
