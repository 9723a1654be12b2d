import type { EncodeOptions, Model, Tokenizer } from '@quern/runtime';
import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor } from '../models.js';
import { chatIds, chatPromptFields } from '../requests/chat-prompt.js';
import { modelName, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import type { Notice } from '../requests/unread.js';
import { teiTokenize } from './tei-tokens.js';

const { messages, ...chatFields } = chatPromptFields;

const tokenizeRequest = z.strictObject({
  ...chatFields,
  model: modelName,
  messages: orNull(messages),
  prompt: orNull(z.string()),
  content: orNull(z.string()),
  add_special_tokens: orNull(z.boolean()),
  add_special: orNull(z.boolean()),
  parse_special: orNull(z.boolean()),
  with_pieces: orNull(z.boolean()),
  return_token_strs: orNull(z.boolean()),
});

type TokenizeRequest = z.output<typeof tokenizeRequest>;

/** POST /tokenize: a `prompt` or `messages`, as in vLLM; a `content`, as in llama.cpp; `inputs`, as in TEI */
export async function tokenize(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const json = await readJson(request);
  if (typeof json === 'object' && json !== null && 'inputs' in json) return teiTokenize(json, context, call);
  const body = parse(tokenizeRequest, json, call);
  const { model } = await modelFor(context, call, 'generation', body);
  const ids = await tokensOf(body, model, call.notice);
  const { tokenizer } = model;
  return Response.json({
    tokens: body.with_pieces ? ids.map((id) => ({ id, piece: pieceOf(id, tokenizer!) })) : ids,
    count: ids.length,
    max_model_len: model.context,
    ...(body.return_token_strs && { token_strs: ids.map((id) => tokenizer!.tokenText(id)) }),
  });
}

async function tokensOf(body: TokenizeRequest, model: Model, notice: Notice): Promise<readonly number[]> {
  const { messages, prompt, content } = body;
  const given = [messages, prompt, content].filter((each) => each !== undefined).length;
  if (given !== 1) throw badField('prompt', 'give one of these: prompt, content, messages');
  if (messages) return chatIds({ ...body, messages }, model, notice);
  return model.tokenize((prompt ?? content)!, encodingOf(body));
}

/** `content` has llama.cpp's defaults: those of the prompt of /completion, without what begins a prompt. */
function encodingOf(body: TokenizeRequest): EncodeOptions {
  const isContent = body.content !== undefined;
  const adds = body.add_special ?? body.add_special_tokens ?? !isContent;
  const parses = body.parse_special ?? isContent;
  return { special: parses ? 'parse' : 'text', ...(!adds && { addBos: false, addEos: false }) };
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a token; its bytes where they are a part of a character. */
function pieceOf(id: number, tokenizer: Tokenizer): string | readonly number[] {
  const bytes = tokenizer.tokenBytes(id);
  try {
    return strict.decode(bytes);
  } catch {
    return [...bytes];
  }
}

const detokenizeRequest = z.strictObject({ model: modelName, tokens: z.array(whole(0)) });

/** POST /detokenize */
export async function detokenize(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(detokenizeRequest, await readJson(request), call);
  const { model } = await modelFor(context, call, 'generation', body);
  const prompt = model.detokenize(body.tokens);
  return Response.json({ prompt, content: prompt });
}
