import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { generatorFor, modelFor } from '../models.js';
import { type ChatRequest, chatRequest } from '../requests/chat.js';
import { chatIds, chatPromptFields, chatPromptOf } from '../requests/chat-prompt.js';
import { type CompletionRequest, completionRequest, promptsOf } from '../requests/completion.js';
import { modelName } from '../requests/fields.js';
import { samplingOptions } from '../requests/generate-options.js';
import { parse, readJson } from '../requests/parse.js';
import { completionPrompt, usualTokens } from './completions.js';

const templateRequest = z.strictObject({ ...chatPromptFields, model: modelName });

/** POST /apply-template, in the form of llama.cpp's server */
export async function applyTemplate(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(templateRequest, await readJson(request), call);
  const { model } = await modelFor(context, call, 'generation', body);
  return Response.json({ prompt: model.chatText(...chatPromptOf(body, call.notice)) });
}

/** POST /v1/chat/completions/render, in the form of vLLM: what the request would compute */
export async function renderChat(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(chatRequest, await readJson(request), call);
  const { name, model } = await generatorFor(context, call, body, 'json');
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  return Response.json(rendered('chatcmpl', name, await chatIds(body, model, call.notice), body, maxTokens));
}

/** POST /v1/completions/render, in the form of vLLM: one object per prompt */
export async function renderCompletions(
  request: Request,
  context: ServerContext,
  call: Call,
): Promise<Response> {
  const body = parse(completionRequest, await readJson(request), call);
  const { name, model } = await generatorFor(context, call, body, 'json');
  const list = await Promise.all(
    promptsOf(body).map(async (prompt) => {
      const given = await completionPrompt(prompt, body, model);
      const ids = typeof given === 'string' ? model.tokenize(given, { addEos: false }) : given;
      return rendered('cmpl', name, ids, body, body.max_tokens ?? usualTokens);
    }),
  );
  return Response.json(list);
}

function rendered(
  kind: string,
  model: string,
  ids: readonly number[],
  body: ChatRequest | CompletionRequest,
  maxTokens: number | undefined,
) {
  const sampling = samplingOptions(body);
  return {
    request_id: `${kind}-${randomUUID()}`,
    model,
    token_ids: ids,
    sampling_params: {
      n: body.n ?? 1,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      top_k: sampling.topK,
      min_p: sampling.minP,
      repetition_penalty: sampling.repetitionPenalty ?? 1,
      presence_penalty: sampling.presencePenalty ?? 0,
      frequency_penalty: sampling.frequencyPenalty ?? 0,
      seed: body.seed ?? null,
      stop: [sampling.stop ?? []].flat(),
      max_tokens: maxTokens ?? null,
      ignore_eos: sampling.ignoreEos ?? false,
    },
    stream: body.stream ?? false,
    priority: body.priority ?? 0,
  };
}
