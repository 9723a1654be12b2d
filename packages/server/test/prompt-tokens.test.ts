// Token ids of texts and chats without an answer: /tokenize, /apply-template, …/render.
import type { Model } from '@quern/runtime';
import type { RunningServer } from '../src/index.js';
import { hermesTemplate } from './hermes-template.mjs';
import { json, loadDemo, post, serving } from './serving.js';

let model: Model;
let server: RunningServer;
beforeAll(async () => {
  model = await loadDemo(2, { chatTemplate: hermesTemplate, context: 512 });
  server = await serving(model);
});
afterAll(async () => {
  await server.close();
  model.dispose();
});

const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
const messages = [{ role: 'user', content: 'Hi <|end|>' }];
const ask = async (path: string, body: object) => json(await post(server.url + path, body));

/** The prompt tokens that an answer to the request counts. */
const counted = async (body: object) =>
  (await ask('/v1/chat/completions', { ...body, max_tokens: 1 })).usage.prompt_tokens;

describe('/tokenize', () => {
  test('a prompt: the ids that /v1/completions computes; strings of the vocabulary', async () => {
    const found = await ask('/tokenize', { prompt: 'a fox<|end|>', return_token_strs: true });
    const ids = model.tokenize('a fox<|end|>');
    expect(found).toEqual({
      ...{ tokens: ids, count: ids.length, max_model_len: 512 },
      token_strs: ids.map((id) => model.tokenizer!.tokenText(id)),
    });
    const parsed = await ask('/tokenize', { prompt: 'a fox<|end|>', parse_special: true });
    expect(parsed.tokens).toEqual(model.tokenize('a fox<|end|>', { special: 'parse' }));
    const bare = await ask('/tokenize', { prompt: 'a fox', add_special_tokens: false });
    expect(bare.tokens).toEqual(model.tokenize('a fox', { addBos: false }));
  });

  test('a content, with llama.cpp’s defaults', async () => {
    const { tokens } = await ask('/tokenize', { content: 'a fox<|end|>' });
    expect(tokens).toEqual(model.tokenize('a fox<|end|>', { special: 'parse', addBos: false }));
    const added = await ask('/tokenize', { content: 'a<|end|>', add_special: true, parse_special: false });
    expect(added.tokens).toEqual(model.tokenize('a<|end|>'));
  });

  test('pieces join to the text; parts of characters are bytes', async () => {
    const text = 'a fox\n á 🦊<|end|>';
    const { tokens } = await ask('/tokenize', { content: text, with_pieces: true });
    type Piece = string | number[];
    const pieces: Piece[] = tokens.map(({ piece }: { piece: Piece }) => piece);
    expect(pieces.some((each) => typeof each !== 'string')).toBe(true);
    expect(Buffer.concat(pieces.map((each) => Buffer.from(each as string))).toString()).toBe(text);
    const ids = model.tokenize(text, { special: 'parse', addBos: false });
    expect(tokens.map(({ id }: { id: number }) => id)).toEqual(ids);
    expect((await ask('/detokenize', { tokens: ids.slice(0, -1) })).content).toBe('a fox\n á 🦊');
  });

  test('messages: the tokens of a chat’s prompt', async () => {
    const found = await ask('/tokenize', { messages, tools });
    const own = model.tokenizer!;
    const options = { tools };
    expect(found.tokens).toEqual(model.chatTemplate!.encode(messages, own, options));
    expect(found.count).toBe(await counted({ messages, tools }));
    const open = await ask('/tokenize', { messages, add_generation_prompt: false });
    expect(model.detokenize(open.tokens)).toBe('user: Hi <|end|>');
    const begun = [...messages, { role: 'assistant', content: 'Yes, ' }];
    const continued = await ask('/tokenize', { messages: begun, continue_final_message: true });
    expect(model.detokenize(continued.tokens)).toBe('user: Hi <|end|>assistant: Yes, ');
  });

  test.each([
    [{}, 'prompt'],
    [{ prompt: 'a', content: 'b' }, 'prompt'],
    [{ prompt: 5 }, 'prompt'],
    [{ prompt: 'a', with_pieces: 'yes' }, 'with_pieces'],
    [{ messages: [] }, 'messages'],
    [{ messages, chat_template: 'x' }, 'chat_template'],
  ])('refuses %j', async (body, param) => {
    const response = await post(`${server.url}/tokenize`, body);
    expect([response.status, (await json(response)).error.param]).toEqual([400, param]);
  });
});

describe('/apply-template', () => {
  test('the text of the prompt that a chat computes', async () => {
    const body = { messages, tools, chat_template_kwargs: { a: 1 } };
    const { prompt } = await ask('/apply-template', body);
    expect(prompt).toBe(model.chatTemplate!.render(messages, { tools, extra: { a: 1 } }));
    const { tokens } = await ask('/tokenize', body);
    expect(model.detokenize(tokens)).toBe(prompt);
  });

  test('a chat asked with it by /completion has the same prompt', async () => {
    const plain = [{ role: 'user', content: 'Hi' }];
    const { prompt } = await ask('/apply-template', { messages: plain });
    const { tokens_evaluated } = await ask('/completion', { prompt, n_predict: 0 });
    expect(tokens_evaluated).toBe(await counted({ messages: plain }));
  });

  test('a wrong type, and arguments of calls that are no JSON', async () => {
    const wrong = await post(`${server.url}/apply-template`, { messages: 'Hi' });
    expect([wrong.status, (await json(wrong)).error.param]).toEqual([400, 'messages']);
    const call = { id: '1', type: 'function', function: { name: 'f', arguments: '{' } };
    const cut = { messages: [...messages, { role: 'assistant', tool_calls: [call] }] };
    const response = await post(`${server.url}/apply-template`, cut);
    expect((await json(response)).error.param).toBe('messages.1.tool_calls.0.function.arguments');
  });
});

describe('…/render', () => {
  test('a chat: its ids, its settings, no answer', async () => {
    const before = model.stats().generatedTokens;
    const body = { messages, tools, temperature: 0.5, max_tokens: 7, stop: 'x', stream: true };
    const found = await ask('/v1/chat/completions/render', body);
    expect(found).toMatchObject({
      ...{ request_id: expect.stringMatching(/^chatcmpl-/), model: 'demo', stream: true },
      token_ids: (await ask('/tokenize', { messages, tools })).tokens,
      sampling_params: { temperature: 0.5, max_tokens: 7, stop: ['x'], n: 1, top_p: 1, seed: null },
    });
    expect(model.stats().generatedTokens).toBe(before);
  });

  test('completions: one object per prompt', async () => {
    const list = await ask('/v1/completions/render', { prompt: ['a fox', 'Hi'], seed: 3 });
    const ids = list.map(({ token_ids }: { token_ids: number[] }) => token_ids);
    expect(ids).toEqual([model.tokenize('a fox'), model.tokenize('Hi')]);
    expect(list[0].sampling_params).toMatchObject({ max_tokens: 16, seed: 3, temperature: 1 });
    expect((await ask('/v1/completions/render', { prompt: [5, 6] }))[0].token_ids).toEqual([5, 6]);
  });

  test.each([
    ['/v1/chat/completions/render', { messages: 5 }, 'messages'],
    ['/v1/completions/render', { prompt: {} }, 'prompt'],
  ])('%s: a wrong type', async (path, body, param) => {
    const response = await post(server.url + path, body);
    expect([response.status, (await json(response)).error.param]).toEqual([400, param]);
  });
});
