import type { Context } from 'hono';
import type { ServerContext } from '../context.js';
import { kindOf, modelFor, type ServedModel } from '../models.js';

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

/** GET /v1/models */
export const listModels = ({ options }: ServerContext): Response =>
  Response.json({
    object: 'list',
    data: Object.entries(options.models).map(([name, model]) => describe(name, model)),
  });

/** GET /v1/models/:name */
export function showModel(context: Context, { options }: ServerContext): Response {
  const name = decodeURIComponent(context.req.path.slice('/v1/models/'.length));
  const model = Object.hasOwn(options.models, name) ? options.models[name]! : undefined;
  if (!model) modelFor(options.models, 'generation', name); // throws 404
  return Response.json(describe(name, model!));
}
