// No answer has a path of this machine: clients see names of models and adapters.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BackendError } from '@quern/core';
import {
  type Embedder,
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  type Model,
  makeSyntheticEncoder,
  makeSyntheticSpeechModel,
  type SpeechModel,
} from '@quern/runtime';
import { writeTinyModel } from '../../runtime/test/tiny-model.js';
import { createHandler, type Handler } from '../src/index.js';
import { writeDemoAdapter } from './demo-adapter.js';
import { demo, loadDemo } from './serving.js';
import { tone } from './tone.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-paths-'));
const adapterFolder = join(folder, 'adapters');
let bare: Model;
let full: Model;
let encoder: Embedder;
let speech: SpeechModel;
let handler: Handler;
const log: Readonly<Record<string, unknown>>[] = [];
beforeAll(async () => {
  const path = (name: string) => join(folder, `${name}.gguf`);
  const plain = await writeTinyModel({ chat: false });
  cpSync(plain, path('bare'));
  rmSync(dirname(plain), { recursive: true });
  await makeSyntheticEncoder(path('encoder'), { shape: 'tiny', format: 'f32' });
  await makeSyntheticSpeechModel(path('speech'), { shape: 'whisper-test', format: 'f32' });
  cpSync(demo, path('full'));
  const options = { backend: 'cpu', onNotice: () => {} } as const;
  bare = await loadModel(path('bare'), options);
  full = await loadModel(path('full'), { ...options, context: 256, sequences: 2 });
  encoder = await loadEmbedder(path('encoder'), options);
  speech = await loadSpeechModel(path('speech'), options);
  await full.loadAdapter('poet', writeDemoAdapter(join(adapterFolder, 'poet-files'), full));
  handler = createHandler({
    models: { bare, full, encoder, speech },
    adapterFolder,
    log: (entry) => log.push(entry),
  });
});
afterAll(() => {
  for (const model of [bare, full, encoder, speech]) model.dispose();
  rmSync(folder, { recursive: true });
});

/** The text of an answer, which has no path. */
async function answerOf(to: Handler, request: Request): Promise<readonly [number, string]> {
  const response = await to.fetch(request);
  const text = `${await response.text()}\n${JSON.stringify([...response.headers])}`;
  for (const place of [folder, tmpdir(), homedir(), process.cwd()])
    expect([request.url, text.includes(`${place}/`)]).toEqual([request.url, false]);
  return [response.status, text];
}

const post = (path: string, body: object, to = handler) => {
  const headers = { 'content-type': 'application/json' };
  const isForm = body instanceof FormData;
  const init = isForm ? { body } : { headers, body: JSON.stringify(body) };
  return answerOf(to, new Request(`http://x${path}`, { method: 'POST', ...init }));
};
const get = (path: string, to = handler) => answerOf(to, new Request(`http://x${path}`));

const form = (bytes: Uint8Array): FormData => {
  const data = new FormData();
  data.set('file', new Blob([new Uint8Array(bytes)]), 'sound.wav');
  return data;
};

const messages = [{ role: 'user', content: 'hi' }];
const requests = (model: string): (readonly [string, object])[] => [
  ['/v1/chat/completions', { model, messages, max_tokens: 2 }],
  ['/v1/chat/completions', { model, messages, max_tokens: 2, stream: true }],
  ['/v1/completions', { model, prompt: 'hi', max_tokens: 2 }],
  ['/v1/responses', { model, input: 'hi', max_output_tokens: 16 }],
  ['/v1/messages', { model, messages, max_tokens: 2 }],
  ['/v1/messages/count_tokens', { model, messages }],
  ['/tokenize', { model, prompt: 'hi' }],
  ['/detokenize', { model, tokens: [1] }],
  ['/v1/embeddings', { model, input: 'a' }],
  ['/v1/embeddings', { model, input: 'a', prompt: 'none' }],
  ['/v1/rerank', { model, query: 'a', documents: ['b'] }],
];

test('what a model cannot do', async () => {
  const statuses = [];
  for (const name of ['bare', 'full', 'encoder', 'speech', 'poet', 'none'])
    for (const [path, body] of requests(name)) statuses.push((await post(path, body))[0]);
  expect(new Set(statuses)).toEqual(new Set([200, 400, 404]));
  const refusals = [
    await post('/v1/chat/completions', { model: 'bare', messages }),
    await post('/v1/embeddings', { model: 'encoder', input: 'a', prompt: 'none' }),
    await post('/v1/rerank', { model: 'encoder', query: 'a', documents: ['b'] }),
  ];
  expect(refusals).toEqual([
    [400, expect.stringContaining('"bare has no chat template')],
    [400, expect.stringContaining('the prompts of encoder are')],
    [400, expect.stringContaining('"encoder ranks no texts')],
  ]);
});

test('models, pages, figures, and what is not there', async () => {
  for (const path of ['/v1/models', '/v1/models/full', '/v1/models/poet', '/metrics', '/health', '/ready'])
    expect((await get(path))[0]).toBe(200);
  for (const path of ['/v1/models/none', '/page/none.js', '/page/..%2f..%2fpackage.json', '/none'])
    expect((await get(path))[0]).toBe(404);
});

test('sounds that cannot be read', async () => {
  const wav = tone();
  const sounds = [new Uint8Array(0), wav.subarray(0, 20), wav.subarray(0, 50), Uint8Array.of(1, 2, 3)];
  const heads = ['OggS', 'fLaC', 'ID3', '\0\0\0\x18ftypM4A ', '\x1aE\xdf\xa3', 'RF64', '#!AMR'];
  for (const sound of [...sounds, ...heads.map((head) => Buffer.from(head.padEnd(80), 'latin1'))])
    expect((await post('/v1/audio/transcriptions', form(sound)))[0]).toBe(400);
});

test('adapters that cannot be loaded', async () => {
  const poet = join(adapterFolder, 'poet-files');
  const files: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    empty: {},
    'no json': { 'adapter_config.json': '{' },
    'no tensors': { 'adapter_config.json': '{"peft_type":"LORA","lora_alpha":1,"r":4}' },
    'bad "tensors"': {
      'adapter_config.json': '{"peft_type":"LORA","lora_alpha":1,"r":4}',
      'adapter_model.safetensors': 'none',
    },
  };
  for (const [name, texts] of Object.entries(files)) {
    mkdirSync(join(adapterFolder, name));
    for (const [file, text] of Object.entries(texts)) writeFileSync(join(adapterFolder, name, file), text);
  }
  writeFileSync(join(adapterFolder, 'a.gguf'), 'GGUF');
  cpSync(demo, join(adapterFolder, 'model.gguf'));
  for (const lora_path of [...Object.keys(files), 'a.gguf', 'model.gguf', poet, '../full.gguf', 'none\0'])
    for (const model of ['full', 'bare'])
      expect((await post('/v1/load_lora_adapter', { model, lora_name: 'new', lora_path }))[0]).toBe(400);
  expect(
    (await post('/v1/load_lora_adapter', { model: 'bare', lora_name: 'new', lora_path: 'poet-files' }))[0],
  ).toBe(400);
  expect((await post('/v1/unload_lora_adapter', { lora_name: 'none' }))[0]).toBe(404);
});

test('a failure of the machine: the log has the path', async () => {
  const failing = await loadDemo(1);
  const failures = {
    known: new BackendError('BAD_WEIGHT', `[loadWeight] 'x': cannot open ${failing.path}: ENOENT`),
    unknown: new BackendError('DEVICE_FAILED', "the driver failed: cannot open '/dev/nvidia0'"),
  };
  const models = Object.fromEntries(
    Object.entries(failures).map(([name, error]) => [
      name,
      Object.assign(Object.create(failing) as Model, {
        generate: () => {
          throw error;
        },
      }),
    ]),
  );
  const own = createHandler({ models, log: (entry) => log.push(entry) });
  const ask = (model: string) => post('/v1/completions', { model, prompt: 'hi' }, own);
  expect(await ask('known')).toEqual([500, expect.stringContaining("'x': cannot open known: ENOENT")]);
  const [status, text] = await ask('unknown');
  expect([status, text]).toEqual([500, expect.stringContaining('its log has the reason')]);
  expect(text).not.toContain('/dev/');
  expect(log.map(({ error }) => error)).toEqual(
    expect.arrayContaining(Object.values(failures).map(({ message }) => message)),
  );
  failing.dispose();
});

test('models that have been disposed', async () => {
  for (const model of [bare, full, encoder, speech]) model.dispose();
  for (const name of ['bare', 'full', 'encoder', 'speech', 'poet'])
    for (const [path, body] of requests(name)) await post(path, body);
  const statuses = [
    await post('/v1/completions', { model: 'full', prompt: 'hi' }),
    await post('/v1/audio/transcriptions', form(tone())),
    await post('/v1/load_lora_adapter', { model: 'full', lora_name: 'new', lora_path: 'poet-files' }),
  ].map(([status]) => status);
  expect(statuses).toEqual([503, 503, 503]);
  await get('/metrics');
  await get('/v1/models');
});
