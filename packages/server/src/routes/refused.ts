import type { Context } from 'hono';
import { ApiError } from '../errors.js';

/** Routes of OpenAI's API that no model here can serve, and what serves something like it. */
const refused: readonly (readonly [path: string, why: string])[] = [
  ['/audio/speech', 'no model here makes sound: /v1/audio/transcriptions and /v1/audio/translations read it'],
  ['/images', 'no model here makes images'],
  ['/moderations', 'there is no moderation: judge texts with a model, /v1/chat/completions'],
  ['/files', 'nothing is stored: send texts in the request'],
  ['/uploads', 'nothing is stored: send texts in the request'],
  ['/batches', 'nothing is stored: send the requests at the same time, they share steps'],
  ['/fine_tuning', 'models are not trained here: load adapters, /v1/load_lora_adapter'],
  ['/assistants', 'nothing is stored: use /v1/responses or /v1/chat/completions'],
  ['/threads', 'nothing is stored: use /v1/responses or /v1/chat/completions'],
  ['/vector_stores', 'nothing is stored: use /v1/embeddings'],
];

/** The error for a route of OpenAI's API that this server cannot have; undefined for other paths. */
export function refusal({ req }: Context): ApiError | undefined {
  const path = req.path.replace(/^\/v1(?=\/)/, '');
  const found = refused.find(([each]) => path === each || path.startsWith(`${each}/`));
  return found && new ApiError(404, `${req.path} is not supported: ${found[1]}`, null, 'not_supported');
}
