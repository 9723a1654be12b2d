import type { Embedder, Model } from '@quern/runtime';
import type { Context } from 'hono';
import type { ServerContext } from '../context.js';
import { generators, kindOf, modelFor, type Offer, type ServedModel, servedName } from '../models.js';
import { isAnthropic } from './anthropic-error.js';

const begin = new Date();
const created = Math.floor(begin.getTime() / 1000);

const describe = (name: string, model: ServedModel) => ({
  id: name,
  object: 'model',
  created,
  owned_by: 'quern',
  kind: kindOf(model),
  ...contextOf(model),
  meta: metaOf(model),
  ...('plan' in model && { backend: model.backend, plan: model.plan.ranges }),
});

/** Most tokens, under the names that clients read: vLLM's, OpenRouter's, Groq's, LM Studio's. */
function contextOf(model: ServedModel) {
  const tokens = 'context' in model ? model.context : 'maxTokens' in model ? model.maxTokens : undefined;
  if (tokens === undefined) return {};
  return {
    max_model_len: tokens,
    context_length: tokens,
    context_window: tokens,
    max_context_length: tokens,
  };
}

/** Sizes, under llama.cpp's names. */
function metaOf(model: ServedModel) {
  if (kindOf(model) === 'speech') return null;
  const { config, file } = model as Model | Embedder;
  return {
    n_ctx: contextOf(model).max_model_len,
    n_ctx_train: config.context,
    n_vocab: config.vocabulary,
    n_embd: config.width,
    n_params: file.parameters,
    size: file.byteLength,
  };
}

type Description = ReturnType<typeof describe>;

/** The adapters of a model: clients name them as models. */
const adaptersOf = ([parent, model]: readonly [string, Model]) =>
  model.adapters.map(({ name, rank }) => ({ ...describe(name, model), parent, adapter: { rank } }));

/** All that clients may name. */
function namedBy({ models, aliases = {} }: Offer): readonly Description[] {
  const own = [
    ...Object.entries(models).map(([name, model]) => describe(name, model)),
    ...generators(models).flatMap(adaptersOf),
  ];
  const others = Object.entries(aliases).flatMap(([id, alias_of]) => {
    const meant = own.find((each) => each.id === alias_of);
    return meant ? [{ ...meant, id, alias_of }] : [];
  });
  return [...own, ...others];
}

/** In the form of Anthropic's API. */
const anthropicModel = ({ id, max_model_len }: Description) => ({
  type: 'model',
  id,
  display_name: id,
  created_at: begin.toISOString(),
  deprecated_at: null,
  retires_at: null,
  lifecycle: 'active',
  line: null,
  capabilities: null,
  allowed_fallback_models: null,
  max_input_tokens: max_model_len ?? null,
  max_tokens: max_model_len ?? null,
});

/** GET /v1/models, in OpenAI's form; for Anthropic's client in its own */
export function listModels({ req }: Context, { options }: ServerContext): Response {
  const data = namedBy(options);
  if (!isAnthropic(req.raw)) return Response.json({ object: 'list', data });
  const [first_id, last_id] = [data.at(0)?.id ?? null, data.at(-1)?.id ?? null];
  return Response.json({ data: data.map(anthropicModel), has_more: false, first_id, last_id });
}

/** Text with a wrong escape ('%zz') stays as it is: no model has such a name. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** GET /v1/models/:name, /models/:name */
export function showModel({ req }: Context, { options }: ServerContext): Response {
  const { models, aliases } = options;
  const name = servedName(options, decoded(req.path.replace(/^(\/v1)?\/models\//, '')));
  const found = namedBy(options).find(({ id }) => id === name);
  if (!found) modelFor({ models, aliases }, 'generation', name); // throws 404
  return Response.json(isAnthropic(req.raw) ? anthropicModel(found!) : found);
}
