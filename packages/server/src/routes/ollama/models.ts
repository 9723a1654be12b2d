import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Embedder, Model } from '@quern/runtime';
import type { Call, ServerContext } from '../../context.js';
import { kindOf, type Offer, servedName } from '../../models.js';
import { ollamaPullRequest, ollamaShowRequest } from '../../requests/ollama.js';
import { parse, readJson } from '../../requests/parse.js';
import { line, lineStream, modelsAreFixed, notFound } from './form.js';

/** A model that clients of Ollama can use. */
interface Entry {
  readonly name: string;
  readonly model: Model | Embedder;
  /** The adapter, and its model. */
  readonly adapter?: string;
  readonly parent?: string;
}

/** Models and adapters that write or embed texts, and further names of these. */
function entriesOf({ models, aliases = {} }: Offer): readonly Entry[] {
  const own = Object.entries(models).flatMap(([name, model]): Entry[] => {
    if (kindOf(model) === 'speech') return [];
    const one = { name, model: model as Model | Embedder };
    const adapters = 'adapters' in model ? model.adapters : [];
    return [one, ...adapters.map((each) => ({ ...one, name: each.name, adapter: each.name, parent: name }))];
  });
  const others = Object.entries(aliases).flatMap(([name, meant]) =>
    own.filter((each) => each.name === meant).map((each) => ({ ...each, name })),
  );
  return [...own, ...others];
}

/** Ollama's names always have a tag. */
const tagged = (name: string): string => (/:[^/]*$/.test(name) ? name : `${name}:latest`);

/** When the model's file was written; of a file that is gone, the time of the question. */
const modifiedAt = ({ path }: Model | Embedder): Promise<string> =>
  stat(path).then(
    ({ mtime }) => mtime.toISOString(),
    () => new Date().toISOString(),
  );

/** GET /api/tags */
export async function tags({ options }: ServerContext): Promise<Response> {
  const models = await Promise.all(entriesOf(options).map(listed));
  return Response.json({ models });
}

async function listed(entry: Entry) {
  const { file } = entry.model;
  const modified = await modifiedAt(entry.model);
  const name = tagged(entry.name);
  return {
    name,
    model: name,
    modified_at: modified,
    size: file.byteLength,
    digest: digestOf(entry, modified),
    details: detailsOf(entry),
    capabilities: capabilitiesOf(entry.model),
  };
}

/** Differs where another file, or the same file changed, is served; not a digest of its bytes, which takes minutes. */
const digestOf = ({ adapter = '', model: { path, file } }: Entry, modified: string) =>
  createHash('sha256')
    .update(JSON.stringify([path, file, modified, adapter]))
    .digest('hex');

const detailsOf = ({ model, parent = '' }: Entry) => ({
  parent_model: parent && tagged(parent),
  format: model.file.kind,
  family: model.architecture,
  families: [model.architecture],
  parameter_size: inWords(model.file.parameters),
  quantization_level: model.file.format.toUpperCase(),
  context_length: contextOf(model),
  embedding_length: model.config.width,
});

const units = [
  [1e9, 'B'],
  [1e6, 'M'],
  [1e3, 'K'],
] as const;

/** As in '8.0B'. */
function inWords(count: number): string {
  const unit = units.find(([size]) => count >= size);
  return unit ? `${(count / unit[0]).toFixed(1)}${unit[1]}` : String(count);
}

/** Most tokens of a request. */
const contextOf = (model: Model | Embedder): number => ('context' in model ? model.context : model.maxTokens);

function capabilitiesOf(model: Model | Embedder): readonly string[] {
  if (!('generate' in model)) return ['embedding'];
  const { takesTools, thinking = 'never' } = model.chatTemplate ?? {};
  return ['completion', ...(takesTools ? ['tools'] : []), ...(thinking === 'never' ? [] : ['thinking'])];
}

/** POST /api/show */
export async function show(request: Request, { options }: ServerContext, call: Call): Promise<Response> {
  const body = parse(ollamaShowRequest, await readJson(request), call);
  const asked = body.model ?? body.name;
  const entry = entryOf(options, asked);
  return Response.json({
    modelfile: `FROM ${tagged(entry.name)}\nPARAMETER num_ctx ${contextOf(entry.model)}\n`,
    parameters: `${'num_ctx'.padEnd(30)} ${contextOf(entry.model)}`,
    template: ('chatTemplate' in entry.model && entry.model.chatTemplate?.source) || '',
    details: detailsOf(entry),
    model_info: infoOf(asked ?? entry.name, entry.model),
    capabilities: capabilitiesOf(entry.model),
    modified_at: await modifiedAt(entry.model),
  });
}

/** @throws ApiError 404 */
function entryOf(offer: Offer, asked: string | undefined): Entry {
  const own = entriesOf({ models: offer.models });
  if (asked === undefined && own.length === 1) return own[0]!;
  const name = servedName(offer, asked ?? '');
  const entry = entriesOf(offer).find((each) => each.name === name);
  if (!entry) throw notFound(asked);
  return entry;
}

/** Sizes under GGUF's names. The context is that of the server: clients cut prompts to it. */
function infoOf(name: string, model: Model | Embedder) {
  const { architecture, config } = model;
  return {
    'general.architecture': architecture,
    'general.basename': name,
    'general.parameter_count': model.file.parameters,
    [`${architecture}.context_length`]: contextOf(model),
    [`${architecture}.embedding_length`]: config.width,
    [`${architecture}.block_count`]: config.layers,
    [`${architecture}.feed_forward_length`]: config.feedForward,
    [`${architecture}.attention.head_count`]: config.heads,
    [`${architecture}.attention.head_count_kv`]: 'kvHeads' in config ? config.kvHeads : config.heads,
    [`${architecture}.vocab_size`]: config.vocabulary,
  };
}

/** When a model is unloaded: never while the server runs. Ollama's `keep_alive: -1` gives a year of this kind. */
const never = '2318-01-01T00:00:00Z';

/** GET /api/ps */
export async function running({ options }: ServerContext): Promise<Response> {
  const models = await Promise.all(entriesOf(options).map(loadedModel));
  return Response.json({ models });
}

async function loadedModel(entry: Entry) {
  const { capabilities: _, modified_at: __, ...about } = await listed(entry);
  const size = bytesOf(entry.model) ?? about.size;
  return {
    ...about,
    size,
    size_vram: entry.model.profile.kind === 'gpu' ? size : 0,
    expires_at: never,
    context_length: contextOf(entry.model),
  };
}

/** Planned bytes of a generating model: weights, cache and activations. */
function bytesOf(model: Model | Embedder): number | undefined {
  if (!('plan' in model)) return undefined;
  const { weights, cache, activations } = model.plan.memory;
  return weights + cache + activations;
}

/** POST /api/pull: a model that is served is there. */
export async function pull(request: Request, { options }: ServerContext, call: Call): Promise<Response> {
  const body = parse(ollamaPullRequest, await readJson(request), call);
  const asked = body.model ?? body.name ?? '';
  const names = entriesOf(options).map(({ name }) => name);
  if (!names.includes(servedName(options, asked)))
    throw modelsAreFixed(
      404,
      `there is no model "${asked}" to pull; there are ${names.join(', ') || 'none'}`,
    );
  if (body.stream === false) return Response.json({ status: 'success' });
  return lineStream(pulled(), call);
}

async function* pulled(): AsyncGenerator<string> {
  for (const status of ['pulling manifest', 'verifying sha256 digest', 'writing manifest', 'success'])
    yield line({ status });
}
