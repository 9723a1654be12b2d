import type { Call, ServerContext } from '../context.js';
import { chatCompletions } from './chat-completions.js';
import { cohereEmbed } from './cohere-embed.js';
import { completion } from './completion.js';
import { embed, nativeEmbedding } from './embed.js';
import { infill } from './infill.js';
import { countTokens, messages } from './messages.js';
import { applyTemplate, renderChat, renderCompletions } from './render.js';
import { anyRerank, cohereRerank, rerank } from './rerank.js';
import { responses } from './responses.js';
import { score } from './score.js';

type Route = (request: Request, context: ServerContext, call: Call) => Promise<Response>;

/** Routes of llama.cpp's server, vLLM, text-embeddings-inference, Jina and Cohere; and ours without /v1. */
export const peerRoutes: Readonly<Record<string, Route>> = {
  '/chat/completions': chatCompletions,
  '/responses': responses,
  '/messages': messages,
  '/messages/count_tokens': countTokens,
  '/completion': completion,
  '/completions': completion,
  '/infill': infill,
  '/apply-template': applyTemplate,
  '/v1/completions/render': renderCompletions,
  '/v1/chat/completions/render': renderChat,
  '/embed': embed,
  '/v2/embed': cohereEmbed,
  '/embedding': nativeEmbedding,
  '/embeddings': nativeEmbedding,
  '/rerank': anyRerank,
  '/v2/rerank': cohereRerank,
  '/reranking': rerank,
  '/v1/reranking': rerank,
  '/score': score,
  '/v1/score': score,
};

/** The field with the prompt or the texts, where it is not `messages`. */
export const peerInputs: Readonly<Record<string, string>> = {
  '/responses': 'input',
  '/completion': 'prompt',
  '/completions': 'prompt',
  '/infill': 'input_prefix',
  '/v1/completions/render': 'prompt',
  '/embed': 'inputs',
  '/v2/embed': 'texts',
  '/embedding': 'content',
  '/embeddings': 'input',
  '/rerank': 'documents',
  '/v2/rerank': 'documents',
  '/reranking': 'documents',
  '/v1/reranking': 'documents',
  '/score': 'documents',
  '/v1/score': 'documents',
};
