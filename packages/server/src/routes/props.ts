import type { Model } from '@quern/runtime';
import type { ServerContext } from '../context.js';
import { ApiError } from '../errors.js';
import { chosenModel } from '../offer.js';
import { settingsOf } from '../requests/native.js';
import { version } from '../version.js';

/** `?model=`: needed where the server has several models. A model that is not loaded is loaded. */
async function withNamed(
  request: Request,
  { offer }: ServerContext,
  show: (name: string, model: Model) => Response,
): Promise<Response> {
  const asked = new URL(request.url).searchParams.get('model') ?? undefined;
  const { name, pooled } = chosenModel(offer, 'generation', asked);
  const lease = await offer.pool.acquire(pooled.name, { signal: request.signal });
  try {
    return show(name, lease.model as Model);
  } finally {
    lease.release();
  }
}

/** Requests that fit in the cache with a whole context each. */
function slotsOf(model: Model): number {
  const { blocks, blockSize } = model.stats();
  return Math.max(1, Math.floor(blocks / Math.ceil(model.context / blockSize)));
}

/** The spelling of a token; '' where there is none. */
const spelling = ({ tokenizer }: Model, id: number | undefined): string =>
  tokenizer && id !== undefined ? tokenizer.tokenText(id) : '';

const settings = ({ context }: Model) => ({ n_ctx: context, params: settingsOf({}) });

/** GET /props, in the form of llama.cpp's server. `model_path` is the model's name: paths stay on this machine. */
export const props = (request: Request, context: ServerContext): Promise<Response> =>
  withNamed(request, context, propsOf);

function propsOf(name: string, model: Model): Response {
  const { tokenizer, chatTemplate } = model;
  return Response.json({
    default_generation_settings: settings(model),
    total_slots: slotsOf(model),
    model_alias: name,
    model_path: name,
    modalities: { vision: false, audio: false },
    chat_template: chatTemplate?.source ?? '',
    bos_token: spelling(model, tokenizer?.bos),
    eos_token: spelling(model, tokenizer?.eos),
    build_info: `quern ${version}`,
    is_sleeping: false,
  });
}

/**
 * GET /slots, in the form of llama.cpp's server. The cache has blocks, not slots: a slot is room for a whole context, or a
 * running request beyond these.
 */
export const slots = (request: Request, context: ServerContext): Promise<Response> =>
  withNamed(request, context, (_, model) => slotsShown(request, model));

function slotsShown(request: Request, model: Model): Response {
  const { running } = model.stats();
  const total = slotsOf(model);
  const isFull = running >= total;
  if (isFull && new URL(request.url).searchParams.get('fail_on_no_slot') === '1')
    throw new ApiError(503, `all ${total} slots are taken`, null, 'no_slot');
  const list = Array.from({ length: Math.max(total, running) }, (_, id) => ({
    id,
    n_ctx: model.context,
    is_processing: id < running,
  }));
  return Response.json(list);
}
