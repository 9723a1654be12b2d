import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Call, ServerContext } from '../../context.js';
import { type Offer, servedName } from '../../offer.js';
import type { PooledModel } from '../../pool/entry.js';
import type { ModelFacts } from '../../pool/source.js';
import { ollamaPullRequest, ollamaShowRequest } from '../../requests/ollama.js';
import { parse, readJson } from '../../requests/parse.js';
import { line, lineStream, modelsAreFixed, notFound } from './form.js';

/** A model that clients of Ollama can use. */
interface Entry {
  readonly name: string;
  readonly pooled: PooledModel;
  /** The adapter, and its model. */
  readonly adapter?: string;
  readonly parent?: string;
}

/** Models and adapters that write or embed texts, and further names of these. */
function entriesOf({ pool, aliases = {} }: Offer): readonly Entry[] {
  const own = pool.models.flatMap((pooled): Entry[] => {
    if (pooled.kind === 'speech') return [];
    const one = { name: pooled.name, pooled };
    const adapted = (adapter: string) => ({ name: adapter, pooled, adapter, parent: pooled.name });
    return [one, ...pooled.adapters.map(adapted)];
  });
  const others = Object.entries(aliases).flatMap(([name, meant]) =>
    own.filter((each) => each.name === meant).map((each) => ({ ...each, name })),
  );
  return [...own, ...others];
}

/** Ollama's names always have a tag. */
const tagged = (name: string): string => (/:[^/]*$/.test(name) ? name : `${name}:latest`);

/** When the model's file was written; of a file that is gone, the time of the question. */
const modifiedAt = ({ path = '' }: ModelFacts): Promise<string> =>
  stat(path).then(
    ({ mtime }) => mtime.toISOString(),
    () => new Date().toISOString(),
  );

/** GET /api/tags */
export async function tags({ offer }: ServerContext): Promise<Response> {
  const models = await Promise.all(entriesOf(offer).map(listed));
  return Response.json({ models });
}

async function listed(entry: Entry) {
  const { facts } = entry.pooled;
  const modified = await modifiedAt(facts);
  const name = tagged(entry.name);
  return {
    name,
    model: name,
    modified_at: modified,
    size: facts.file?.byteLength ?? 0,
    digest: digestOf(entry, modified),
    details: detailsOf(entry),
    capabilities: capabilitiesOf(entry.pooled),
  };
}

/** Differs where another file, or the same file changed, is served; not a digest of its bytes, which takes minutes. */
const digestOf = ({ adapter = '', pooled: { facts } }: Entry, modified: string) =>
  createHash('sha256')
    .update(JSON.stringify([facts.path, facts.file, modified, adapter]))
    .digest('hex');

function detailsOf({ pooled, parent = '' }: Entry) {
  const { file, architecture = '', context, sizes } = pooled.facts;
  return {
    parent_model: parent && tagged(parent),
    format: file?.kind ?? '',
    family: architecture,
    families: [architecture],
    parameter_size: inWords(file?.parameters ?? 0),
    quantization_level: (file?.format ?? '').toUpperCase(),
    context_length: context,
    embedding_length: sizes?.width,
  };
}

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

/** Of a model that was never loaded only what its kind says. */
const capabilitiesOf = ({ kind, facts }: PooledModel): readonly string[] =>
  facts.capabilities ?? [kind === 'generation' ? 'completion' : 'embedding'];

/** POST /api/show */
export async function show(request: Request, { offer }: ServerContext, call: Call): Promise<Response> {
  const body = parse(ollamaShowRequest, await readJson(request), call);
  const asked = body.model ?? body.name;
  const entry = entryOf(offer, asked);
  const { facts, model } = entry.pooled;
  return Response.json({
    modelfile: `FROM ${tagged(entry.name)}\nPARAMETER num_ctx ${facts.context}\n`,
    parameters: `${'num_ctx'.padEnd(30)} ${facts.context}`,
    template: (model && 'chatTemplate' in model && model.chatTemplate?.source) || '',
    details: detailsOf(entry),
    model_info: infoOf(asked ?? entry.name, facts),
    capabilities: capabilitiesOf(entry.pooled),
    modified_at: await modifiedAt(facts),
  });
}

/** @throws ApiError 404 */
function entryOf(offer: Offer, asked: string | undefined): Entry {
  const own = entriesOf({ pool: offer.pool });
  if (asked === undefined && own.length === 1) return own[0]!;
  const name = servedName(offer, asked ?? '');
  const entry = entriesOf(offer).find((each) => each.name === name);
  if (!entry) throw notFound(asked);
  return entry;
}

/** Sizes under GGUF's names. The context is that of the server: clients cut prompts to it. */
function infoOf(name: string, { architecture = '', context, sizes, file }: ModelFacts) {
  return {
    'general.architecture': architecture,
    'general.basename': name,
    'general.parameter_count': file?.parameters,
    [`${architecture}.context_length`]: context,
    [`${architecture}.embedding_length`]: sizes?.width,
    [`${architecture}.block_count`]: sizes?.layers,
    [`${architecture}.feed_forward_length`]: sizes?.feedForward,
    [`${architecture}.attention.head_count`]: sizes?.heads,
    [`${architecture}.attention.head_count_kv`]: sizes?.kvHeads ?? sizes?.heads,
    [`${architecture}.vocab_size`]: sizes?.vocabulary,
  };
}

/** When a model is unloaded that stays. Ollama's `keep_alive: -1` gives a year of this kind. */
const never = '2318-01-01T00:00:00Z';

const expiryOf = ({ expires }: PooledModel): string =>
  expires === Number.POSITIVE_INFINITY ? never : new Date(expires).toISOString();

/** GET /api/ps: the models that are loaded */
export async function running({ offer }: ServerContext): Promise<Response> {
  const loaded = entriesOf(offer).filter(({ pooled }) => pooled.state === 'loaded');
  return Response.json({ models: await Promise.all(loaded.map(loadedModel)) });
}

async function loadedModel(entry: Entry) {
  const { capabilities: _, modified_at: __, ...about } = await listed(entry);
  const { model, counts, facts } = entry.pooled;
  const size = counts.bytes || about.size;
  const isOnGpu = model && 'profile' in model && model.profile.kind === 'gpu';
  return {
    ...about,
    size,
    size_vram: isOnGpu ? size : 0,
    expires_at: expiryOf(entry.pooled),
    context_length: facts.context,
  };
}

/** POST /api/pull: a model that is served is there. */
export async function pull(request: Request, { offer }: ServerContext, call: Call): Promise<Response> {
  const body = parse(ollamaPullRequest, await readJson(request), call);
  const asked = body.model ?? body.name ?? '';
  const names = entriesOf(offer).map(({ name }) => name);
  if (!names.includes(servedName(offer, asked)))
    throw modelsAreFixed(
      404,
      `there is no model "${asked}" to pull; known models: ${names.join(', ') || 'none'}`,
    );
  if (body.stream === false) return Response.json({ status: 'success' });
  return lineStream(pulled(), call);
}

async function* pulled(): AsyncGenerator<string> {
  for (const status of ['pulling manifest', 'verifying sha256 digest', 'writing manifest', 'success'])
    yield line({ status });
}
