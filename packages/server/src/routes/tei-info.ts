import type { Embedder } from '@quern/runtime';
import type { ServerContext } from '../context.js';
import { chosenModel } from '../offer.js';
import { defaults, type HandlerOptions } from '../options.js';
import { version } from '../version.js';
import { mostInputs } from './embeddings.js';

const label = 'LABEL_0';

/** One output of a classifier orders texts; TEI names it. */
const typeOf = ({ ranks, config: { pooling } }: Embedder): object =>
  ranks ? { reranker: { id2label: { 0: label }, label2id: { [label]: 0 } } } : { embedding: { pooling } };

/**
 * GET /info, in the form of text-embeddings-inference. `?model=`: needed where the server has several. A model that is not
 * loaded is loaded.
 */
export async function info(request: Request, { offer, options }: ServerContext): Promise<Response> {
  const asked = new URL(request.url).searchParams.get('model') ?? undefined;
  const { name, pooled } = chosenModel(offer, 'embedding', asked);
  const lease = await offer.pool.acquire(pooled.name, { signal: request.signal });
  try {
    return Response.json(infoOf(name, lease.model as Embedder, options));
  } finally {
    lease.release();
  }
}

function infoOf(name: string, model: Embedder, options: HandlerOptions): object {
  return {
    model_id: name,
    model_sha: null,
    model_dtype: model.file.format,
    model_type: typeOf(model),
    max_concurrent_requests: options.requests ?? defaults.requests,
    max_input_length: model.maxTokens,
    max_batch_tokens: mostInputs * model.maxTokens,
    max_batch_requests: null,
    max_client_batch_size: mostInputs,
    auto_truncate: false,
    tokenization_workers: 1,
    version,
    sha: null,
    docker_label: null,
  };
}
