import type { Context } from 'hono';
import type { ServerContext } from '../context.js';
import { chosenModel, type Offer, servedName } from '../offer.js';
import type { PooledModel } from '../pool/entry.js';
import { isAnthropic } from './anthropic-error.js';

const begin = new Date();
const created = Math.floor(begin.getTime() / 1000);

const describe = (name: string, pooled: PooledModel) => ({
  id: name,
  object: 'model',
  created,
  owned_by: 'quern',
  kind: pooled.kind,
  ...contextOf(pooled),
  meta: metaOf(pooled),
  ...planOf(pooled),
  ...stateOf(pooled),
  architecture: modalities[pooled.kind],
});

/** Most tokens, under the names that clients read: vLLM's, OpenRouter's, Groq's, LM Studio's. */
function contextOf({ facts: { context } }: PooledModel) {
  if (context === undefined) return {};
  return {
    max_model_len: context,
    context_length: context,
    context_window: context,
    max_context_length: context,
  };
}

/** Sizes, under llama.cpp's names. */
function metaOf({ facts: { sizes, file, context } }: PooledModel) {
  if (!sizes) return null;
  return {
    n_ctx: context,
    n_ctx_train: sizes.context,
    n_vocab: sizes.vocabulary,
    n_embd: sizes.width,
    n_params: file?.parameters,
    size: file?.byteLength,
  };
}

function planOf({ model }: PooledModel) {
  return model && 'plan' in model ? { backend: model.backend, plan: model.plan.ranges } : {};
}

/** Whether the model is loaded: LM Studio's name, and that of llama.cpp's router. */
function stateOf({ state, failure }: PooledModel) {
  const failed = failure !== undefined && state === 'unloaded';
  return { state, status: { value: state, ...(failed && { failed }) } };
}

/** What a model reads and writes, under OpenRouter's and llama.cpp's names. */
const modalities = {
  generation: { input_modalities: ['text'], output_modalities: ['text'] },
  embedding: { input_modalities: ['text'], output_modalities: ['embeddings'] },
  speech: { input_modalities: ['audio'], output_modalities: ['transcription'] },
} as const;

type Description = ReturnType<typeof describe>;

/** The adapters of a model: clients name them as models. */
function adaptersOf(pooled: PooledModel) {
  const { name: parent, model } = pooled;
  const ranks = model && 'adapters' in model ? model.adapters : [];
  return pooled.adapters.map((name) => {
    const rank = ranks.find((each) => each.name === name)?.rank;
    return { ...describe(name, pooled), parent, adapter: { rank } };
  });
}

/** All that clients may name. */
function namedBy({ pool, aliases = {} }: Offer): readonly Description[] {
  const own = [
    ...pool.models.map((each) => describe(each.name, each)),
    ...pool.models.filter(({ kind }) => kind === 'generation').flatMap(adaptersOf),
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
export function listModels({ req }: Context, { offer }: ServerContext): Response {
  const data = namedBy(offer);
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
export function showModel({ req }: Context, { offer }: ServerContext): Response {
  const name = servedName(offer, decoded(req.path.replace(/^(\/v1)?\/models\//, '')));
  const found = namedBy(offer).find(({ id }) => id === name);
  if (!found) chosenModel({ ...offer, anyModel: false }, 'generation', name); // throws 404
  return Response.json(isAnthropic(req.raw) ? anthropicModel(found!) : found);
}
