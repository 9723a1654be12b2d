import type { ChatOptions, Model } from '@quern/runtime';
import { answer, type Begin, continuation, turn } from '../../chat/turn.js';
import type { Call, ServerContext } from '../../context.js';
import type { NamedModel } from '../../models.js';
import {
  needFittingRaw,
  type OllamaGenerateRequest,
  ollamaGenerateRequest,
  promptMessages,
} from '../../requests/ollama.js';
import { ollamaThinking } from '../../requests/ollama-think.js';
import { parse, readJson } from '../../requests/parse.js';
import { type AnswerForm, loaded, respond } from './answer.js';
import { generationOptions } from './chat.js';
import { ollamaGenerator } from './form.js';
import { unloadedBy } from './unload.js';

/** POST /api/generate */
export async function generate(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const start = performance.now();
  const body = parse(ollamaGenerateRequest, await readJson(request), call);
  needFittingRaw(body);
  const isEmpty = body.prompt === '';
  const unloaded = isEmpty ? await unloadedBy(context, body, { response: '' }, call) : undefined;
  if (unloaded) return unloaded;
  const served = await ollamaGenerator(context, call, body);
  const form = formOf(body, served);
  if (isEmpty) return loaded(form, call);
  const events = turn(served, await beginOf(body, served, call), context.metrics, 'format');
  return respond(events, form, call, start);
}

const formOf = (
  body: OllamaGenerateRequest,
  { name, model, waitMs }: NamedModel<'generation'>,
): AnswerForm => ({
  name: body.model ?? name,
  model,
  stream: body.stream,
  logprobs: body.logprobs,
  waitMs,
  show: ({ text = '', thinking = '' }) => ({ response: text, ...(thinking !== '' && { thinking }) }),
});

/** A prompt is a message of a chat, unless it is raw, or the model has no template. */
async function beginOf(
  body: OllamaGenerateRequest,
  served: NamedModel<'generation'>,
  call: Call,
): Promise<Begin> {
  const options = generationOptions(body, served, call);
  const { model } = served;
  if (body.raw) return continuation(await rawTokens(body.prompt, model), { ...options, special: true });
  if (!model.chatTemplate && !body.system) return continuation(body.prompt, options);
  const chat: ChatOptions = { ...options, ...ollamaThinking(body, served, call.notice) };
  return answer(promptMessages(body), chat);
}

/**
 * The tokens of a prompt whose control tokens the client writes. A start token that it writes is not added again. The
 * answer shows control tokens: clients stop at those of fill-in-the-middle.
 */
async function rawTokens(prompt: string, { tokenizer, context }: Model): Promise<string | readonly number[]> {
  const bos = tokenizer?.bos === undefined ? '' : tokenizer.tokenText(tokenizer.bos);
  if (!tokenizer || bos === '' || !prompt.startsWith(bos)) return prompt;
  return tokenizer.encodeInTurns(prompt, { special: 'parse', addBos: false, addEos: false, limit: context });
}
