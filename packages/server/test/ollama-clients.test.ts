// Ollama's API through clients that applications use: ollama-js and LangChain's ChatOllama.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChatOllama, OllamaEmbeddings } from '@langchain/ollama';
import type { Model } from '@quern/runtime';
import {
  type ChatMessage,
  describeFile,
  type Embedder,
  loadEmbedder,
  loadModel,
  makeSyntheticEncoder,
  stringifyJson,
} from '@quern/runtime';
import { type ChatResponse, Ollama, type Tool } from 'ollama';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import { type RunningServer, serve } from '../src/index.js';
import { writeDemoAdapter } from './demo-adapter.js';
import { json, loadDemo, post, until } from './serving.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-ollama-'));
/** Not a number of JavaScript's. */
const digits = '1234567890123456789';
const pieces = [
  '<tool_call>',
  '{"name": "weather"',
  ', "arguments": ',
  '{"city": "Rome"',
  `, "id": ${digits}}`,
  '}',
  '</tool_call>',
];

/** The arguments of the call, as JavaScript reads them. */
const given = { city: 'Rome', id: Number(digits) };

let demo: Model;
let caller: Model;
let encoder: Embedder;
let server: RunningServer;
/** What the clients' messages became. */
const seen: (readonly ChatMessage[])[] = [];
beforeAll(async () => {
  demo = await loadDemo(2, { chatTemplate: 'chatml' });
  const scripted = await writeScriptedModel(pieces, { controls: ['</tool_call>', '<tool_call>'] });
  caller = await loadModel(scripted, { backend: 'cpu', sequences: 2 });
  const chat = caller.chat.bind(caller);
  caller.chat = ((...args: Parameters<Model['chat']>) => {
    seen.push(args[0]);
    return chat(...args);
  }) as Model['chat'];
  const path = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32', ranks: true });
  encoder = await loadEmbedder(path, { backend: 'cpu' });
  server = await serve({ models: { demo, caller, encoder }, port: 0, apiKeys: ['secret'] });
});
afterAll(async () => {
  await server.close();
  for (const model of [demo, caller, encoder]) model.dispose();
  rmSync(folder, { recursive: true });
});

const authorization = { authorization: 'Bearer secret' };
const client = () => new Ollama({ host: server.url, headers: authorization });
const question = [{ role: 'user', content: 'Tell me a story.' }];
const options = { temperature: 0, num_predict: 12, top_k: 0, top_p: 1, repeat_penalty: 1 };

/** The text of /v1/chat/completions for the same sampling. */
async function expected(): Promise<string> {
  const ask = { model: 'demo', messages: question, temperature: 0, max_tokens: 12 };
  const { choices } = await json(await post(`${server.url}/v1/chat/completions`, ask, authorization));
  return choices[0].message.content;
}

describe('ollama-js', () => {
  test('chat, whole and streamed: the text of chat completions', async () => {
    const text = await expected();
    const whole = await client().chat({ model: 'demo', messages: question, options });
    expect(whole).toMatchObject({
      model: 'demo',
      message: { role: 'assistant', content: text },
      done: true,
      done_reason: 'length',
      eval_count: 12,
      load_duration: 0,
    });
    expect(whole.prompt_eval_count).toBe((await demo.chatTokens(question)).length);
    expect(whole.total_duration).toBeGreaterThanOrEqual(whole.eval_duration);
    expect(Number.isNaN(Date.parse(String(whole.created_at)))).toBe(false);

    const parts: ChatResponse[] = [];
    for await (const part of await client().chat({
      model: 'demo',
      messages: question,
      options,
      stream: true,
    }))
      parts.push(part);
    expect(parts.map(({ message }) => message.content).join('')).toBe(text);
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.map(({ done }) => done)).toEqual(parts.map((_, i) => i === parts.length - 1));
    expect(parts.at(-1)).toMatchObject({ done_reason: 'length', eval_count: 12, message: { content: '' } });
  });

  const tools: Tool[] = [
    {
      type: 'function',
      function: {
        name: 'weather',
        description: 'The weather of a city.',
        parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
      },
    },
  ];

  test('calls keep the digits of their numbers; those that are cut are given as text', async () => {
    const ask = { model: 'caller', messages: [{ role: 'user', content: 'Rome?' }], tools };
    const send = async (body: object) =>
      (await post(`${server.url}/api/chat`, { ...ask, ...body }, authorization)).text();
    expect(await send({ options: { temperature: 0 } })).toContain(`"id":${digits}`);
    const cut = JSON.parse(await send({ options: { temperature: 0, num_predict: 4 }, stream: false }));
    expect(cut).toMatchObject({
      done_reason: 'length',
      message: {
        tool_calls: [{ function: { arguments: { INVALID_JSON: expect.stringContaining('Rome') } } }],
      },
    });
    const history = `{"model": "caller", "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "weather", "arguments": {"id": ${digits}}}}]}], "stream": false}`;
    await (await post(`${server.url}/api/chat`, history, authorization)).text();
    expect(stringifyJson(seen.at(-1))).toContain(`"id":${digits}`);
  });

  test('two rounds with a call, whole and streamed', async () => {
    const ask = { model: 'caller', messages: [{ role: 'user', content: 'Rome?' }], tools, options };
    const first = await client().chat({ ...ask, options: { temperature: 0 } });
    expect(first.done_reason).toBe('stop');
    expect(first.message.tool_calls).toEqual([
      { id: expect.any(String), function: { index: 0, name: 'weather', arguments: given } },
    ]);
    const messages = [
      ...ask.messages,
      first.message,
      { role: 'tool', tool_name: 'weather', content: 'sunny' },
    ];
    const parts: ChatResponse[] = [];
    for await (const part of await client().chat({
      ...ask,
      messages,
      options: { temperature: 0 },
      stream: true,
    }))
      parts.push(part);
    const calls = parts.flatMap(({ message }) => message.tool_calls ?? []);
    expect(calls).toMatchObject([{ function: { index: 0, name: 'weather', arguments: given } }]);
    const { id } = first.message.tool_calls![0] as unknown as { id: string };
    expect(seen.at(-1)).toEqual([
      { role: 'user', content: 'Rome?' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id, type: 'function', function: { name: 'weather', arguments: given } }],
      },
      { role: 'tool', content: 'sunny', name: 'weather', tool_call_id: id },
    ]);
  });

  test('generate, whole and streamed', async () => {
    const text = await expected();
    const ask = { model: 'demo', prompt: question[0]!.content, options };
    expect((await client().generate(ask)).response).toBe(text);
    let streamed = '';
    for await (const { response } of await client().generate({ ...ask, stream: true })) streamed += response;
    expect(streamed).toBe(text);
    const raw = await client().generate({ ...ask, raw: true });
    const { text: continued } = await demo.generate(ask.prompt, { ...plain, maxTokens: 12 }).result;
    expect(raw.response).toBe(continued);
    const loaded = await client().generate({ model: 'demo', prompt: '' });
    expect(loaded).toMatchObject({ response: '', done: true, done_reason: 'load' });
  });

  const plain = { temperature: 0, topK: 0, topP: 1, minP: 0 };

  test('a schema', async () => {
    const format = {
      type: 'object',
      properties: { a: { enum: [1, 2] } },
      required: ['a'],
      additionalProperties: false,
    };
    const { message } = await client().chat({
      model: 'demo',
      messages: question,
      format,
      options: { temperature: 0 },
    });
    expect([1, 2]).toContain(JSON.parse(message.content).a);
    const free = await client().generate({ model: 'demo', prompt: 'Go', format: 'json', options });
    expect(free.response?.trimStart()[0]).toBe('{');
  });

  test('embed: the numbers of the runtime, some of them, texts that are too long', async () => {
    const texts = ['a mill', 'a river by the mill'];
    const found = await encoder.embed(texts);
    const all = await client().embed({ model: 'encoder', input: texts });
    expect(all).toMatchObject({ model: 'encoder', prompt_eval_count: found.tokens, load_duration: 0 });
    for (const [i, row] of all.embeddings.entries()) {
      const rest = row.map((value, j) => Math.abs(value - found.at(i)[j]!));
      expect(row.length).toBe(found.dimensions);
      expect(Math.max(...rest)).toBeLessThan(1e-6);
    }
    const four = await client().embed({ model: 'encoder', input: texts[0]!, dimensions: 4 });
    const length = Math.hypot(...found.at(0).subarray(0, 4));
    for (const [j, value] of four.embeddings[0]!.entries())
      expect(value).toBeCloseTo(found.at(0)[j]! / length, 5);
    expect(four.embeddings[0]).toHaveLength(4);
    const long = 'mill '.repeat(5000);
    expect((await client().embed({ model: 'encoder', input: long })).prompt_eval_count).toBe(
      encoder.maxTokens,
    );
    const cut = { model: 'encoder', input: [long, 'mill'] };
    const response = await post(`${server.url}/api/embed`, cut, authorization);
    expect(response.headers.get('x-quern-notice')).toBe(`texts cut off at ${encoder.maxTokens} tokens: 1`);
    const wide = client().embed({ model: 'encoder', input: 'mill', dimensions: 9999 });
    await expect(wide).rejects.toMatchObject({ status_code: 400 });
    await expect(client().embed({ model: 'encoder', input: long, truncate: false })).rejects.toMatchObject({
      status_code: 400,
      message: expect.stringContaining(String(encoder.maxTokens)),
    });
    const { embedding } = await client().embeddings({ model: 'encoder', prompt: texts[0]! });
    expect(embedding).toEqual(Array.from((await encoder.embed([texts[0]!])).values));
  });

  test('list, show, ps, pull, version', async () => {
    const { models } = await client().list();
    expect(models.map(({ name }) => name)).toEqual(['demo:latest', 'caller:latest', 'encoder:latest']);
    expect(models[0]).toMatchObject({
      model: 'demo:latest',
      size: expect.any(Number),
      digest: expect.stringMatching(/^[\da-f]{64}$/),
      details: { format: 'gguf', family: 'llama', families: ['llama'], parameter_size: '2.4M' },
    });
    expect(new Set(models.map(({ digest }) => digest)).size).toBe(3);
    const described = await describeFile(caller.path);
    expect(models[1]!.size).toBe(described.byteLength);
    const shown = await client().show({ model: 'caller' });
    expect(shown).toMatchObject({
      capabilities: ['completion', 'tools'],
      details: { family: 'llama', quantization_level: 'F32' },
      model_info: { 'general.architecture': 'llama', 'llama.context_length': caller.context },
      template: caller.chatTemplate!.source,
    });
    expect((await client().show({ model: 'encoder' })).capabilities).toEqual(['embedding']);
    const { models: running } = await client().ps();
    expect(running.map(({ name }) => name)).toEqual(models.map(({ name }) => name));
    expect(running[0]).toMatchObject({ context_length: 256, size_vram: 0 });
    expect(await client().pull({ model: 'demo' })).toEqual({ status: 'success' });
    const lines: string[] = [];
    for await (const { status } of await client().pull({ model: 'demo', stream: true })) lines.push(status);
    expect([lines[0], lines.at(-1)]).toEqual(['pulling manifest', 'success']);
    const { version } = await client().version();
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test('an adapter is a model', async () => {
    await demo.loadAdapter('poet', writeDemoAdapter(join(folder, 'poet'), demo));
    const { models } = await client().list();
    const poet = models.find(({ name }) => name === 'poet:latest')!;
    expect(poet.details.parent_model).toBe('demo:latest');
    const { message } = await client().chat({ model: 'poet:latest', messages: question, options });
    const adapted = { ...plain, maxTokens: 12, adapters: 'poet' };
    expect(message.content).toBe((await demo.chat(question, adapted).result).text);
    await demo.unloadAdapter('poet');
  });

  test('an abort in mid-stream ends the generation', async () => {
    const endless = { ...options, num_predict: 200 };
    const stream = await client().chat({ model: 'demo', messages: question, options: endless, stream: true });
    const read = async () => {
      for await (const _ of stream) stream.abort();
    };
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
    await until(() => server.running === 0);
    expect([server.running, demo.stats().running]).toEqual([0, 0]);
  });

  test('errors', async () => {
    const missing = client().chat({ model: 'llama9', messages: question });
    await expect(missing).rejects.toMatchObject({
      status_code: 404,
      message: 'model "llama9" not found, try pulling it first',
    });
    const streamed = client().generate({ model: 'llama9', prompt: 'Hi', stream: true });
    await expect(streamed).rejects.toMatchObject({ status_code: 404 });
    const fixed = expect.stringContaining('the models of this server are chosen when it starts');
    for (const change of [
      client().pull({ model: 'llama9' }),
      client().create({ model: 'x', from: 'demo' }),
      client().copy({ source: 'demo', destination: 'x' }),
      client().push({ model: 'demo' }),
      client().delete({ model: 'demo' }),
    ])
      await expect(change).rejects.toMatchObject({ message: fixed });
    const stranger = new Ollama({ host: server.url });
    await expect(stranger.list()).rejects.toMatchObject({ status_code: 401 });
    const image = { role: 'user', content: 'What is this?', images: ['aGk='] };
    await expect(client().chat({ model: 'demo', messages: [image] })).rejects.toMatchObject({
      status_code: 400,
      message: expect.stringContaining('images are not supported'),
    });
  });
});

describe('LangChain', () => {
  const chat = (model: string, stream = true) =>
    new ChatOllama({
      model,
      baseUrl: server.url,
      headers: authorization,
      temperature: 0,
      numPredict: 12,
      topK: 0,
      topP: 1,
      streaming: stream,
    });

  test('ChatOllama: whole, streamed, a call', async () => {
    const text = await expected();
    expect((await chat('demo', false).invoke(question[0]!.content)).content).toBe(text);
    let streamed = '';
    for await (const { content } of await chat('demo').stream(question[0]!.content)) streamed += content;
    expect(streamed).toBe(text);
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const bound = chat('caller').bindTools([
      { type: 'function', function: { name: 'weather', description: 'The weather', parameters: schema } },
    ]);
    const { tool_calls } = await bound.invoke('Rome?');
    expect(tool_calls).toMatchObject([{ name: 'weather', args: given }]);
  });

  test('OllamaEmbeddings', async () => {
    const embeddings = new OllamaEmbeddings({
      model: 'encoder',
      baseUrl: server.url,
      headers: authorization,
    });
    const [row] = await embeddings.embedDocuments(['a mill']);
    const wanted = (await encoder.embed(['a mill'])).values;
    expect(Math.max(...row!.map((value, j) => Math.abs(value - wanted[j]!)))).toBeLessThan(1e-6);
  });
});
