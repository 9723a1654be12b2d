import type { ChatOptions } from '@quern/runtime';
import { answer, turn } from '../../chat/turn.js';
import type { Call, ServerContext } from '../../context.js';
import { badField } from '../../errors.js';
import type { NamedModel } from '../../models.js';
import {
  type OllamaChatRequest,
  type OllamaGenerating,
  ollamaChatRequest,
  ollamaMessages,
  ollamaSampling,
  ollamaStructure,
} from '../../requests/ollama.js';
import { ollamaThinking } from '../../requests/ollama-think.js';
import { parse, readJson } from '../../requests/parse.js';
import { toolOptions } from '../../requests/tools.js';
import { type AnswerForm, loaded, respond, shownCalls } from './answer.js';
import { ollamaGenerator } from './form.js';
import { unloadedBy } from './unload.js';

/** POST /api/chat */
export async function chat(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const start = performance.now();
  const body = parse(ollamaChatRequest, await readJson(request), call);
  const isEmpty = body.messages.length === 0;
  const unloaded = isEmpty ? await unloadedBy(context, body, { message: empty }, call) : undefined;
  if (unloaded) return unloaded;
  const served = await ollamaGenerator(context, call, body);
  const form = formOf(body, served);
  if (isEmpty) return loaded(form, call);
  needTools(body, served);
  const options: ChatOptions = {
    ...generationOptions(body, served, call),
    ...ollamaThinking(body, served, call.notice),
    ...toolOptions({ ...body, tools: body.tools?.length ? body.tools : undefined }),
  };
  const events = turn(
    served,
    answer(ollamaMessages(body, call.notice), options),
    context.metrics,
    structuredBy(body),
  );
  return respond(events, form, call, start);
}

const empty = { role: 'assistant', content: '' };

const structuredBy = ({ tools }: OllamaChatRequest): string => (tools?.length ? 'tools' : 'format');

function formOf(body: OllamaChatRequest, { name, model, waitMs }: NamedModel<'generation'>): AnswerForm {
  let calls = 0;
  return {
    name: body.model ?? name,
    model,
    stream: body.stream,
    logprobs: body.logprobs,
    waitMs,
    show: ({ text = '', thinking = '', calls: given = [] }) => {
      const shown = shownCalls(given, calls);
      calls += given.length;
      return {
        message: {
          role: 'assistant',
          content: text,
          ...(thinking !== '' && { thinking }),
          ...(shown.length > 0 && { tool_calls: shown }),
        },
      };
    },
  };
}

/** @throws ApiError 400 where the model calls no tools */
function needTools({ tools }: OllamaChatRequest, { name, model }: NamedModel<'generation'>): void {
  if (tools?.length && model.chatTemplate?.takesTools === false)
    throw badField('tools', `"${name}" does not support tools: its chat template writes none`);
}

/** What all routes that generate read of a request. */
export function generationOptions(
  body: OllamaGenerating,
  { model }: NamedModel<'generation'>,
  { signal, notice }: Call,
): ChatOptions {
  if ((body.options?.num_ctx ?? 0) > model.context)
    notice(`num_ctx is ignored: the context has ${model.context} tokens, chosen when the server starts`);
  if (body.truncate) notice('truncate is ignored: a prompt is never cut');
  if (body.shift) notice('shift is ignored: an answer ends where the context is full');
  return {
    ...ollamaSampling(body.options),
    ...ollamaStructure(body),
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    signal,
    onNotice: notice,
  };
}
