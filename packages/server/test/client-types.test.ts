// Every answer, event and error against the types of OpenAI's and Anthropic's clients, by the compiler.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type LoadOptions,
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  makeSyntheticEncoder,
  makeSyntheticSpeechModel,
} from '@quern/runtime';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import { type RunningServer, type ServedModel, serve } from '../src/index.js';
import { faultsOf, type Sent } from './client-types.js';
import { firstRound as codex, history } from './requests/codex.js';
import { json, loadDemo, post } from './serving.js';
import { tone } from './tone.js';

const controls = ['<think>', '</think>', '<tool_call>', '</tool_call>'];
const thoughts = ['<think>', 'Let', ' me', ' look', '</think>'];
const calls = {
  shell: ['<tool_call>', '{"name": "shell", "arguments": ', '{"command": ["ls"]}}', '</tool_call>'],
  patch: ['<tool_call>', '{"name": "apply_patch", ', '"arguments": {"input": "a"}}', '</tool_call>'],
  list: ['<tool_call>', '{"name": "mcp__files__list", ', '"arguments": {"command": []}}', '</tool_call>'],
};
const chatTemplate = `{# <tool_call> <think> #}
{%- if enable_thinking is defined and not enable_thinking %}quiet {% endif %}
{%- for m in messages %}{{ m.content }}{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}¶`;

async function scripted(pieces: readonly string[], context = 6000): Promise<ServedModel> {
  const path = await writeScriptedModel(pieces, { controls, context });
  const options: LoadOptions = { backend: 'cpu', context, chatTemplate };
  return loadModel(path, { ...options, onNotice: () => {} });
}

const folder = mkdtempSync(join(tmpdir(), 'quern-types-'));
let models: Readonly<Record<string, ServedModel>>;
let server: RunningServer;
beforeAll(async () => {
  const [encoder, speech] = [join(folder, 'encoder.gguf'), join(folder, 'speech.gguf')];
  await makeSyntheticEncoder(encoder, { shape: 'tiny', format: 'f32', ranks: true });
  await makeSyntheticSpeechModel(speech, { shape: 'whisper-test', format: 'f32' });
  models = {
    demo: await loadDemo(),
    thinker: await scripted([...thoughts, 'I', ' list', ...calls.shell]),
    patcher: await scripted(calls.patch),
    lister: await scripted(calls.list),
    brief: await scripted(['Hello'], 64),
    encoder: await loadEmbedder(encoder, { backend: 'cpu', onNotice: () => {} }),
    speech: await loadSpeechModel(speech, { backend: 'cpu', onNotice: () => {} }),
  };
  const aliases = { 'claude-haiku-4-5': 'demo' };
  server = await serve({ models, aliases, port: 0 });
});
afterAll(async () => {
  await server.close();
  for (const model of Object.values(models)) model.dispose();
  rmSync(folder, { recursive: true });
});

const sent: Sent[] = [];

/** Keeps a whole answer under its type. */
async function keep(type: string, response: Response, status = 200): Promise<void> {
  expect(response.status).toBe(status);
  sent.push({ type, value: await json(response) });
}

/** Keeps each event of a stream under their type. */
async function keepEvents(type: string, response: Response): Promise<void> {
  expect(response.status).toBe(200);
  const text = await response.text();
  const events = [...text.matchAll(/^data: (?!\[DONE\])(.*)$/gm)].map(([, data]) => JSON.parse(data!));
  expect(events.length).toBeGreaterThan(0);
  sent.push(...events.map((value) => ({ type, value })));
}

const send = (path: string, body: object, headers?: Record<string, string>) =>
  post(server.url + path, { temperature: 0, ...body }, headers);
const get = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers });

const [shell] = codex.tools;
const messages = [{ role: 'user', content: 'Tell me a story about a fox.' }];

describe('OpenAI', () => {
  const tools = [{ type: 'function', function: { name: 'shell', parameters: { type: 'object' } } }];
  const short = { model: 'demo', messages, max_tokens: 6 };
  const response_format = { type: 'json_schema', json_schema: { name: 'a', schema: { enum: ['a', 'b'] } } };

  test.each([
    { ...short },
    { ...short, n: 2, seed: 1, temperature: 1 },
    { ...short, logprobs: true, top_logprobs: 2 },
    { ...short, logprobs: true },
    { ...short, stop: [' '] },
    { ...short, response_format },
    { ...short, model: 'claude-haiku-4-5' },
    { model: 'thinker', messages },
    { model: 'thinker', messages, tools },
    { model: 'thinker', messages, tools, logprobs: true },
    { model: 'thinker', messages, tools, n: 2 },
    { model: 'thinker', messages, max_tokens: 3 },
    { model: 'thinker', messages, tools, max_tokens: 9, return_progress: true, timings_per_token: true },
  ])('chat completions %#', async (body) => {
    await keep('OpenAI.Chat.ChatCompletion', await send('/v1/chat/completions', body));
    const chunk = 'OpenAI.Chat.ChatCompletionChunk';
    await keepEvents(chunk, await send('/v1/chat/completions', { ...body, stream: true }));
    const counted = { ...body, stream: true, stream_options: { include_usage: true } };
    await keepEvents(chunk, await send('/v1/chat/completions', counted));
  });

  test.each([
    { prompt: 'Once' },
    { prompt: ['Once', 'The'], n: 2, echo: true },
    { prompt: 'Once', logprobs: 2 },
    { prompt: 'Once', stop: ' ', return_progress: true, timings_per_token: true },
  ])('completions %#', async (fields) => {
    const body = { model: 'demo', max_tokens: 4, ...fields };
    await keep('OpenAI.Completion', await send('/v1/completions', body));
    await keepEvents('CompletionChunk', await send('/v1/completions', { ...body, stream: true }));
    const counted = { ...body, stream: true, stream_options: { include_usage: true } };
    await keepEvents('CompletionChunk', await send('/v1/completions', counted));
  });

  const plain = { input: 'Which files?', store: true };
  test.each([
    { ...codex, model: 'thinker' },
    { ...codex, model: 'thinker', include: ['message.output_text.logprobs'], top_logprobs: 1 },
    { ...codex, model: 'thinker', max_output_tokens: 3 },
    { ...codex, model: 'thinker', max_output_tokens: 9, input: history },
    { ...codex, model: 'patcher' },
    { ...codex, model: 'lister', tool_choice: { type: 'custom', name: 'apply_patch' }, max_output_tokens: 4 },
    { ...codex, model: 'lister' },
    { ...plain, model: 'demo', max_output_tokens: 4, top_logprobs: 2, metadata: { a: 'b' }, user: 'u' },
    { ...plain, model: 'brief', text: { format: { ...response_format.json_schema, type: 'json_schema' } } },
  ])('responses %#', async (body) => {
    await keepEvents(event, await send('/v1/responses', { ...body, stream: true }));
    await keep(response, await send('/v1/responses', { ...body, stream: false }));
  });

  const response = 'Response';
  const event = 'ResponseEvent';

  test('responses: a failure, an answer that is kept, its items, a count', async () => {
    await keepEvents(event, await send('/v1/responses', { ...codex, model: 'brief' }));
    const { id } = await json(await send('/v1/responses', { ...plain, model: 'thinker', tools: [shell] }));
    await keep(response, await get(`/v1/responses/${id}`));
    const next = { ...plain, model: 'thinker', previous_response_id: id };
    const last = await json(await send('/v1/responses', next));
    await keep('OpenAI.Responses.ResponseItemList', await get(`/v1/responses/${last.id}/input_items`));
    const count = await send('/v1/responses/input_tokens', { ...plain, model: 'thinker' });
    await keep('OpenAI.Responses.InputTokenCountResponse', count);
  });

  test('embeddings, models', async () => {
    const body = { model: 'encoder', input: ['a b', 'c'] };
    await keep('OpenAI.CreateEmbeddingResponse', await send('/v1/embeddings', body));
    await keep("Pick<OpenAI.ModelsPage, 'data' | 'object'>", await get('/v1/models'));
    for (const name of ['demo', 'encoder', 'speech', 'claude-haiku-4-5'])
      await keep('OpenAI.Model', await get(`/v1/models/${name}`));
  });

  const sound = (path: string, fields: Readonly<Record<string, string>>) => {
    const body = new FormData();
    body.append('file', new Blob([new Uint8Array(tone())]), 'tone.wav');
    for (const [name, value] of Object.entries({ model: 'speech', temperature: '0', ...fields }))
      body.append(name, value);
    return fetch(`${server.url}/v1/audio/${path}`, { method: 'POST', body });
  };

  test('transcripts', async () => {
    const { Transcription, Verbose, Translation, TranslationVerbose, Event } = audio;
    const verbose = { response_format: 'verbose_json' };
    const words = { ...verbose, 'timestamp_granularities[]': 'word' };
    await keep(Transcription, await sound('transcriptions', {}));
    await keep(Verbose, await sound('transcriptions', verbose));
    await keep(Verbose, await sound('transcriptions', words));
    await keepEvents(Event, await sound('transcriptions', { stream: 'true' }));
    await keep(Translation, await sound('translations', {}));
    await keep(TranslationVerbose, await sound('translations', verbose));
  });

  const audio = {
    Transcription: 'OpenAI.Audio.Transcription',
    Verbose: 'OpenAI.Audio.TranscriptionVerbose',
    Event: 'OpenAI.Audio.TranscriptionStreamEvent',
    Translation: 'OpenAI.Audio.Translation',
    TranslationVerbose: 'OpenAI.Audio.TranslationVerbose',
  };

  test('errors', async () => {
    const error = '{ error: OpenAI.ErrorObject }';
    await keep(error, await send('/v1/chat/completions', {}), 400);
    await keep(error, await send('/v1/completions', { model: 'none', prompt: 'a' }), 404);
    await keep(error, await send('/v1/responses', { ...codex, model: 'brief', stream: false }), 400);
    await keep(error, await get('/v1/nothing'), 404);
    await keep(error, await get('/v1/embeddings'), 405);
  });
});

describe('Anthropic', () => {
  const version = { 'anthropic-version': '2023-06-01' };
  const ask = (body: object, path = '/v1/messages') =>
    send(path, { max_tokens: 6, messages, ...body }, version);
  const tools = [{ name: 'shell', input_schema: { type: 'object' } }];
  const format = { type: 'json_schema', schema: { enum: ['a', 'b'] } };
  const edits = { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] };

  test.each([
    { model: 'demo' },
    { model: 'demo', stop_sequences: [' '] },
    { model: 'claude-haiku-4-5', output_config: { format } },
    { model: 'demo', max_tokens: 1000 },
    { model: 'thinker', max_tokens: 100 },
    { model: 'thinker', max_tokens: 100, tools },
    { model: 'thinker', max_tokens: 100, thinking: { type: 'disabled' } },
    { model: 'thinker', max_tokens: 9, tools },
  ])('messages %#', async (body) => {
    await keep('Anthropic.Message', await ask(body));
    await keepEvents('Anthropic.RawMessageStreamEvent', await ask({ ...body, stream: true }));
    const managed = { ...body, context_management: edits };
    const path = '/v1/messages?beta=true';
    await keep('Anthropic.Beta.BetaMessage', await ask(managed, path));
    const streamed = await ask({ ...managed, stream: true }, path);
    await keepEvents('Anthropic.Beta.BetaRawMessageStreamEvent', streamed);
  });

  test('models, a count', async () => {
    await keep('Page<Anthropic.ModelInfo>', await get('/v1/models', version));
    await keep('Page<Anthropic.Beta.BetaModelInfo>', await get('/v1/models?beta=true', version));
    for (const name of ['demo', 'encoder', 'speech', 'claude-haiku-4-5'])
      await keep('Anthropic.ModelInfo', await get(`/v1/models/${name}`, version));
    const path = '/v1/messages/count_tokens';
    await keep('Anthropic.MessageTokensCount', await ask({ model: 'demo' }, path));
    const beta = await ask({ model: 'demo' }, `${path}?beta=true`);
    await keep('Anthropic.Beta.BetaMessageTokensCount', beta);
  });

  test('errors', async () => {
    await keep('Anthropic.ErrorResponse', await ask({ model: 'demo', max_tokens: 0 }), 400);
    await keep('Anthropic.ErrorResponse', await ask({ model: 'none' }), 404);
    await keep('Anthropic.ErrorResponse', await get('/v1/models/none', version), 404);
    await keep('Anthropic.ErrorResponse', await get('/v1/messages', version), 405);
  });
});

/** What the compiler must find. */
const wrong: readonly (readonly [sent: Sent, fault: RegExp])[] = [
  [
    { type: 'ResponseEvent', value: { type: 'response.output_text.delta', delta: 'a', sequence_number: 0 } },
    /is missing the following properties .*item_id/s,
  ],
  [
    { type: 'OpenAI.Model', value: { id: 'a', object: 'model', created: 'today', owned_by: 'b' } },
    /'string' is not assignable to type 'number'/,
  ],
  [
    { type: 'Anthropic.MessageTokensCount', value: { input_tokens: 1, output_tokens: 1 } },
    /"output_tokens"' does not exist/,
  ],
];

/** The types of all events that were sent under one of the clients' types. */
const eventTypes = (of: string): string[] =>
  [
    ...new Set(sent.flatMap(({ type, value }) => (type === of ? [(value as { type: string }).type] : []))),
  ].sort();

test('every event of a stream was among them', () => {
  expect(eventTypes('ResponseEvent')).toEqual([
    'error',
    'response.completed',
    'response.content_part.added',
    'response.content_part.done',
    'response.created',
    'response.custom_tool_call_input.delta',
    'response.custom_tool_call_input.done',
    'response.failed',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.in_progress',
    'response.incomplete',
    'response.output_item.added',
    'response.output_item.done',
    'response.output_text.delta',
    'response.output_text.done',
    'response.reasoning_text.delta',
    'response.reasoning_text.done',
  ]);
  const messageEvents = [
    'content_block_delta',
    'content_block_start',
    'content_block_stop',
    'message_delta',
    'message_start',
    'message_stop',
  ];
  expect(eventTypes('Anthropic.RawMessageStreamEvent')).toEqual(messageEvents);
  expect(eventTypes('Anthropic.Beta.BetaRawMessageStreamEvent')).toEqual(messageEvents);
  expect(eventTypes('OpenAI.Audio.TranscriptionStreamEvent')).toEqual([
    'transcript.text.delta',
    'transcript.text.done',
  ]);
});

// The last test: the compiler holds the process for so long that open connections end.
test('all have the types of the clients', () => {
  expect(faultsOf([...sent, ...wrong.map(([each]) => each)])).toEqual(
    wrong.map(([, fault]) => expect.stringMatching(fault)),
  );
}, 300_000);
