import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createBackend } from '@quern/backend-reference';
import { type Backend, QuernError } from '@quern/core';
import * as runtime from '../../src/index.js';
import { wavFile } from '../audio/sound-files.js';
import { writeTinyAdapter } from '../tiny-adapter.js';
import { writeTinyModel } from '../tiny-model.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-arguments-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let backend: Backend;
const encoder = join(folder, 'encoder.gguf');
const speech = join(folder, 'speech.gguf');
let path: string;
let model: runtime.Model;
let embedder: runtime.Embedder;
let whisper: runtime.SpeechModel;

beforeAll(async () => {
  backend = await createBackend();
  path = await writeTinyModel({ spell: (token) => fim[token] ?? token });
  await runtime.makeSyntheticEncoder(encoder, { shape: 'tiny', format: 'f32', ranks: true });
  await runtime.makeSyntheticSpeechModel(speech, { shape: 'whisper-test', format: 'f32' });
  model = await runtime.loadModel(path, { backend });
  embedder = await runtime.loadEmbedder(encoder, { backend });
  whisper = await runtime.loadSpeechModel(speech, { backend });
}, 120_000);
afterAll(() => {
  for (const each of [model, embedder, whisper, backend]) each.dispose();
});

const fim: Readonly<Record<string, string>> = {
  '▁x': '<fim_prefix>',
  '▁y': '<fim_suffix>',
  '▁z': '<fim_middle>',
};

/** Wrong values per expected kind, as untyped JavaScript may pass them. */
const no = {
  text: [undefined, null, 5, {}, [], true, Symbol('s')],
  locator: [undefined, null, 5, {}, [], '', new URL('https://example.com/model.gguf')],
  path: [undefined, null, 5, {}, '', 'a\0b'],
  texts: [undefined, null, 5, 'text', {}, [5], [undefined]],
  options: [null, 5, 'text', [], { nosuch: 1 }, { signal: {} }],
  needed: [undefined, null, 5, 'text', [], { nosuch: 1 }],
  plain: [null, 5, 'text', [], { nosuch: 1 }],
  object: [undefined, null, 5, 'text', []],
  prompt: [undefined, null, 5, {}, true, ['a'], [1.5], [-1], [null]],
  ids: [undefined, null, 5, 'text', {}, ['a'], [null], [1e9], []],
  tokens: [undefined, null, 5, {}, [null], ['a'], [1e9]],
  id: [undefined, null, 'a', -1, 0.5, 1e9],
  messages: [
    ...[undefined, null, 'hi', {}, [undefined], ['hi'], [{}], [{ role: 5 }]],
    ...[5, [null], ['hi'], [{ text: 'no type' }]].map((content) => [{ role: 'user', content }]),
  ],
  sound: [undefined, null, 5, {}, [], true, new Float32Array(9), new URL('https://example.com/a.wav')],
  samples: [
    { samples: null, sampleRate: 16_000 },
    { samples: new Float32Array(9), sampleRate: '16000' },
  ],
} as const;

/** A call with valid arguments, and wrong values for each argument. */
interface Call {
  readonly of?: () => object;
  readonly right: () => readonly unknown[];
  readonly wrong: readonly (readonly unknown[])[];
}

const chat = [{ role: 'user', content: 'a' }];
const adapter = writeTinyAdapter();
let adapters = 0;
const segment = { id: 0, start: 0, end: 1, text: 'a', tokens: [] };
const request = { cacheDtype: 'f16', sequences: 1, prefillChunk: 8 };
const synthetic = () => [join(folder, 'made.gguf'), { shape: 'tiny', format: 'f32' }];

const calls: Readonly<Record<string, Call>> = {
  'model.needSpeculation': {
    of: () => model,
    right: () => [{ kind: 'lookup' }],
    wrong: [[...no.needed, { kind: 'x' }]],
  },
  loadModel: { right: () => [path, { backend }], wrong: [no.locator, no.options] },
  planModel: { right: () => [path, { backend }], wrong: [no.locator, no.options] },
  planLoad: { right: () => [path, { backend }], wrong: [no.locator, no.options] },
  loadEmbedder: { right: () => [encoder, { backend }], wrong: [no.locator, no.options] },
  loadSpeechModel: { right: () => [speech, { backend }], wrong: [no.locator, no.options] },
  modelKind: { right: () => [path], wrong: [no.locator] },
  openTokenizer: { right: () => [path], wrong: [no.locator] },
  describeFile: { right: () => [path], wrong: [no.locator] },
  openModelFile: { right: () => [path, {}], wrong: [no.path, no.plain] },
  loadArchitectures: { right: () => [folder], wrong: [no.text.slice(1)] },
  quernPackages: { right: () => [folder], wrong: [no.text.slice(1)] },
  quantizeModel: {
    right: () => [path, join(folder, 'small.gguf'), { mix: 'q8_0' }],
    wrong: [no.locator, no.path, [...no.needed, {}, { mix: 'q4' }]],
  },
  perplexity: { right: () => [model, 'a b c'], wrong: [no.object, no.text, no.options] },
  findBackend: { right: () => ['reference'], wrong: [no.text, no.plain] },
  findBackends: { right: () => [{}], wrong: [no.plain] },
  describeDevices: { right: () => [{}], wrong: [no.plain] },
  planBackends: { right: () => [model, [{}], request], wrong: [no.object, no.object, no.needed] },
  readRegularFile: { right: () => [path, 1e6], wrong: [no.path.filter((each) => each !== '')] },
  readImportance: { right: () => [path], wrong: [no.path] },
  makeSyntheticModel: { right: synthetic, wrong: [no.path, no.needed] },
  makeSyntheticEncoder: { right: synthetic, wrong: [no.path, no.needed] },
  makeSyntheticSpeechModel: { right: synthetic, wrong: [no.path, no.needed] },
  chatTemplateFromHuggingFace: {
    right: () => [folder, model.tokenizer],
    wrong: [no.path, no.object, no.plain],
  },
  chatTemplateFromGguf: {
    right: () => [new Map(), model.tokenizer],
    wrong: [no.object, no.object, no.plain],
  },
  tokenizerFromHuggingFace: { right: () => [folder], wrong: [no.path] },
  tokenizerFromJson: { right: () => [{}], wrong: [no.object, no.plain] },
  tokenizerFromGguf: { right: () => [new Map()], wrong: [no.object] },
  loadTokenizerFromGguf: { right: () => [new Map()], wrong: [no.object] },
  decodeTokens: { right: () => [model.tokenizer, [3]], wrong: [no.object, no.tokens, no.plain] },
  toSrt: { right: () => [[segment]], wrong: [no.texts] },
  toVtt: { right: () => [[segment]], wrong: [no.texts] },
  srtCue: { right: () => [segment, 1], wrong: [no.object, no.text.slice(0, 2)] },
  vttCue: { right: () => [segment], wrong: [no.object] },
  describeModel: { right: () => [{}], wrong: [no.object] },
  plannerDevice: { right: () => [backend, {}], wrong: [no.object, no.object] },
  kvCacheBytes: {
    right: () => [{ layers: 1, kvHeads: 1, headDim: 1, dtype: 'f16' }, 1],
    wrong: [
      [...no.object, {}],
      ['a', -1, null],
    ],
  },
  'model.generate': { of: () => model, right: () => ['a', { maxTokens: 1 }], wrong: [no.prompt, no.options] },
  'model.chat': { of: () => model, right: () => [chat, { maxTokens: 1 }], wrong: [no.messages, no.options] },
  'session.generate': {
    of: () => model.session(),
    right: () => ['a', { maxTokens: 1 }],
    wrong: [no.prompt, no.options],
  },
  'session.chat': {
    of: () => model.session(),
    right: () => [chat, { maxTokens: 1 }],
    wrong: [no.messages, no.options],
  },
  'model.chatTokens': { of: () => model, right: () => [chat, {}], wrong: [no.messages, no.plain] },
  'model.logits': { of: () => model, right: () => [[3]], wrong: [no.ids, no.options] },
  'model.loadAdapter': {
    of: () => model,
    right: () => [`adapter ${++adapters}`, adapter],
    wrong: [no.text, no.path, no.plain],
  },
  'model.unloadAdapter': {
    of: () => model,
    right: () => [`adapter ${adapters}`],
    wrong: [no.text],
  },
  'model.chatText': { of: () => model, right: () => [chat, {}], wrong: [no.messages, no.plain] },
  'model.infillTokens': {
    of: () => model,
    right: () => ['a', 'b', {}],
    wrong: [no.text, no.text, no.plain],
  },
  'model.tokenize': { of: () => model, right: () => ['a'], wrong: [no.text, no.plain] },
  'model.detokenize': { of: () => model, right: () => [[3]], wrong: [no.tokens, no.plain] },
  'embedder.tokenize': { of: () => embedder, right: () => ['a'], wrong: [no.text, no.plain] },
  'embedder.detokenize': { of: () => embedder, right: () => [[3]], wrong: [no.tokens, no.plain] },
  'embedder.embed': { of: () => embedder, right: () => [['a']], wrong: [no.texts, no.options] },
  'embedder.embedEach': { of: () => embedder, right: () => [['a']], wrong: [no.texts, no.options] },
  'embedder.rerank': {
    of: () => embedder,
    right: () => ['a', ['a']],
    wrong: [no.text, no.texts, no.options],
  },
  'whisper.transcribe': {
    of: () => whisper,
    right: () => [{ samples: new Float32Array(0), sampleRate: 16_000 }],
    wrong: [[...no.sound, ...no.samples], no.options],
  },
  'whisper.compute': {
    of: () => whisper,
    right: () => [{ samples: new Float32Array(0), sampleRate: 16_000 }],
    wrong: [[...no.sound, ...no.samples], no.options],
  },
  'tokenizer.encode': { of: () => model.tokenizer!, right: () => ['a'], wrong: [no.text, no.plain] },
  'tokenizer.encodeInTurns': { of: () => model.tokenizer!, right: () => ['a'], wrong: [no.text, no.plain] },
  'tokenizer.decode': { of: () => model.tokenizer!, right: () => [[3]], wrong: [no.tokens, no.plain] },
  'tokenizer.tokenBytes': { of: () => model.tokenizer!, right: () => [3], wrong: [no.id] },
  'tokenizer.tokenText': { of: () => model.tokenizer!, right: () => [3], wrong: [no.id] },
  'tokenizer.isControl': { of: () => model.tokenizer!, right: () => [3], wrong: [no.id] },
  'template.render': { of: () => model.chatTemplate!, right: () => [chat], wrong: [no.messages, no.plain] },
  'template.encode': {
    of: () => model.chatTemplate!,
    right: () => [chat, model.tokenizer],
    wrong: [no.messages, no.object, no.plain],
  },
  'template.prompt': {
    of: () => model.chatTemplate!,
    right: () => [chat, model.tokenizer],
    wrong: [no.messages, no.object, no.plain],
  },
  'template.from': { of: () => runtime.ChatTemplate, right: () => ['a'], wrong: [no.text, no.plain] },
  'template.builtin': { of: () => runtime.ChatTemplate, right: () => ['chatml'], wrong: [no.text, no.plain] },
  'sampler.sample': {
    of: () => new runtime.Sampler(),
    right: () => [new Float32Array(2)],
    wrong: [[...no.object, {}, [1, 2]]],
  },
  'sampler.distribution': {
    of: () => new runtime.Sampler(),
    right: () => [new Float32Array(2)],
    wrong: [[...no.object, {}, [1, 2]]],
  },
  'sampler.accept': {
    of: () => new runtime.Sampler(),
    right: () => [1],
    wrong: [[undefined, null, 'a', {}]],
  },
  tool: {
    right: () => [{ name: 'f' }],
    wrong: [
      [...no.object, ...no.plain, { execute() {} }, { parameters: 5 }, { jsonSchema: {}, parameters: {} }],
    ],
  },
  AnswerParser: {
    right: () => [{ calls: 'hermes' }],
    wrong: [[...no.plain, { calls: 'xml' }, { tools: [{}] }, { thinking: true }]],
  },
  'answerParser.push': { of: () => new runtime.AnswerParser(), right: () => ['a'], wrong: [no.text] },
  Sampler: { right: () => [{}, 5], wrong: [no.plain, ['a', 0, null]] },
  StopMatcher: { right: () => [['a']], wrong: [no.texts] },
  TokenStream: { right: () => [model.tokenizer], wrong: [no.object, no.plain] },
};

type Callable = (...args: never) => unknown;

const isCallable = (value: unknown): value is Callable => typeof value === 'function';
const isClass = (value: Callable) => value.toString().startsWith('class');

function target(name: string, of: Call['of']): Callable {
  const value: unknown = Reflect.get(of?.() ?? runtime, name.split('.').at(-1)!);
  if (!isCallable(value)) throw new Error(`there is no ${name}`);
  return value;
}

const isGenerator = (value: object): value is AsyncGenerator =>
  Symbol.asyncIterator in value && 'next' in value;

/** Calls, and waits for the result: a promise, a generation, a transcription, the first item of a generator. */
async function outcome(name: string, { of }: Call, args: readonly unknown[]): Promise<unknown> {
  const call = target(name, of);
  try {
    const given: unknown = isClass(call) ? Reflect.construct(call, args) : Reflect.apply(call, of?.(), args);
    const awaited: unknown = await given;
    if (typeof awaited === 'object' && awaited !== null && 'result' in awaited) await awaited.result;
    if (typeof awaited === 'object' && awaited !== null && isGenerator(awaited)) await awaited.next();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe.each(Object.keys(calls))('%s', (name) => {
  const call = calls[name]!;
  test.each(call.wrong.map((_, place) => place))('a wrong argument %d gives an error code', async (place) => {
    for (const value of call.wrong[place]!) {
      const args = [...call.right()];
      args[place] = value;
      const error = await outcome(name, call, args);
      const shown = typeof value === 'symbol' ? 'a symbol' : (JSON.stringify(value) ?? String(value));
      const told = error instanceof QuernError ? 'has a code' : `${shown} gives ${String(error)}`;
      expect(told).toBe('has a code');
    }
  });
});

/** Exports that users do not call (the runtime makes them), and isMixName, which accepts anything. */
const noCalls = [
  'knownArchitectures',
  'JsonNumber',
  'parseJson',
  'stringifyJson',
  'isMixName',
  'ChatTemplate',
  'Model',
  'Session',
  'Generation',
  'ChatGeneration',
  'Embedder',
  'Embeddings',
  'SpeechModel',
  'Transcription',
];

test('every public function is tested', () => {
  const functions = Object.entries(runtime).flatMap(([name, value]) =>
    typeof value === 'function' && !name.endsWith('Error') && !noCalls.includes(name) ? [name] : [],
  );
  expect(functions.filter((name) => !(name in calls))).toEqual([]);
});

test.each([
  ['model', () => model],
  ['embedder', () => embedder],
  ['whisper', () => whisper],
  ['tokenizer', () => model.tokenizer!],
  ['session', () => model.session()],
])('every public method of a %s is tested', (name, of) => {
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(of())).filter(
    (method) =>
      typeof Object.getOwnPropertyDescriptor(Object.getPrototypeOf(of()), method)!.value === 'function',
  );
  const inner = [
    'constructor',
    'dispose',
    'session',
    'continuation',
    'answer',
    'source',
    'needChatTemplate',
    'needMessages',
    'draftOf',
    'draftFor',
    'needLive',
  ];
  const private_ = [
    ...inner,
    'stats',
    'saveCache',
    'embedJob',
    'limitOf',
    'job',
    'prefixOf',
    'pairs',
    'sayOnce',
    'idsOf',
    'fragments',
  ];
  const known = (method: string) => `${name}.${method}` in calls || private_.includes(method);
  expect(methods.filter((method) => !known(method))).toEqual([]);
});

describe('messages', () => {
  const message = async (name: string, args: readonly unknown[]) => {
    const error = await outcome(name, calls[name]!, args);
    return error instanceof QuernError ? `${error.message} (${error.code})` : String(error);
  };

  test.each<[string, readonly unknown[], string]>([
    [
      'loadModel',
      [process.env.QUERN_NO_SUCH_MODEL],
      '[loadModel] the model is undefined; it must be a path, a file: URL, the name of an installed model package, or a name of the Hugging Face Hub. Was a variable not set, one of the environment perhaps? (BAD_ARGUMENT)',
    ],
    [
      'loadModel',
      ['demo', { threads: 1e6 }],
      '[loadModel] threads is 1000000; it must be a whole number from 1 to 1024 (BAD_OPTION)',
    ],
    [
      'loadModel',
      ['demo', { sequences: 1e9 }],
      '[loadModel] sequences is 1000000000; it must be a whole number from 1 to 65536 (BAD_OPTION)',
    ],
    [
      'loadModel',
      ['demo', { backend: {} }],
      "[loadModel] backend is an object; it must be 'auto', the name of a backend such as 'cpu', or a Backend, or a list of these, with 1 at least (BAD_OPTION)",
    ],
    [
      'model.generate',
      ['a', { temprature: 1 }],
      "[generate] there is no option 'temprature': did you mean 'temperature'? (BAD_OPTION)",
    ],
    [
      'model.generate',
      ['a', { temperature: '0.5' }],
      "[generate] temperature is '0.5' (a string); it must be a number, finite and at least 0 (BAD_OPTION)",
    ],
    [
      'model.generate',
      ['a', { stop: null }],
      '[generate] stop is null; it must be a string, or a list of strings (BAD_OPTION)',
    ],
    [
      'model.generate',
      ['a', { signal: {} }],
      '[generate] signal is an object; it must be an AbortSignal (BAD_OPTION)',
    ],
    [
      'describeDevices',
      [{ nosuch: 1 }],
      "[describeDevices] there is no option 'nosuch': there are threads, isa, precision, backendOptions, resolveFrom, automatic, measure (BAD_OPTION)",
    ],
    [
      'model.generate',
      [5],
      '[generate] prompt is 5; it must be a string, or a list of token ids (BAD_ARGUMENT)',
    ],
    [
      'model.chat',
      ['hi'],
      "[chat] messages is 'hi' (a string); it must be a list of messages: [{ role: 'user', content: 'Hello!' }] (BAD_ARGUMENT)",
    ],
    [
      'model.chat',
      [[]],
      "[chat] messages is empty; it must have a message, as [{ role: 'user', content: 'Hello!' }] (BAD_ARGUMENT)",
    ],
    [
      'model.chat',
      [[...chat, { role: 'usr', content: 'x' }]],
      "[chat] messages[1] has the role 'usr'; the chat template of this model knows 'system', 'user', 'assistant', 'tool': did you mean 'user'? (BAD_ARGUMENT)",
    ],
    [
      'model.chat',
      [[{ role: 'narrator', content: 'x' }]],
      "[chat] messages[0] has the role 'narrator'; the chat template of this model knows 'system', 'user', 'assistant', 'tool': a role that the model was trained with, but that its template does not name, belongs into the option `roles` (BAD_ARGUMENT)",
    ],
    [
      'model.chat',
      [[{ role: 'user', contents: 'x' }]],
      "[chat] messages[0] has 'contents': did you mean 'content'? (BAD_ARGUMENT)",
    ],
    [
      'template.render',
      [[{ role: 'user' }]],
      "[render] messages[0] has no content: give a string, or null beside 'tool_calls' (BAD_ARGUMENT)",
    ],
    [
      'whisper.transcribe',
      [null],
      'the sound is null; it must be a path, a file: URL, the bytes of a file, or { samples, sampleRate } (BAD_SAMPLES)',
    ],
  ])('%s(…%j)', async (name, args, expected) => {
    expect(await message(name, args)).toBe(expected);
  });
});

test('a file: URL for a model and for audio; an ArrayBuffer for audio', async () => {
  using loaded = await runtime.loadModel(pathToFileURL(path), { backend });
  using same = await runtime.loadModel(pathToFileURL(path).href, { backend });
  expect(same.path).toBe(loaded.path);
  expect(loaded.path).toBe(path);
  const wav = Uint8Array.from(wavFile([new Array<number>(1600).fill(0)], { bits: 16 }));
  const file = join(folder, 'silence.wav');
  writeFileSync(file, wav);
  const inputs = [file, pathToFileURL(file), wav, wav.buffer];
  for (const input of inputs) expect((await whisper.transcribe(input).result).duration).toBe(0.1);
  const empty = wavFile([[]], { bits: 16 });
  await expect(whisper.transcribe(empty).result).rejects.toMatchObject({ code: 'EMPTY' });
});

test('a single stop string without a list', async () => {
  const options = { temperature: 0, maxTokens: 40 };
  const { text } = await model.generate('the', options).result;
  const stop = text.slice(3, 5);
  const stopped = await model.generate('the', { ...options, stop }).result;
  expect(stopped).toMatchObject({ reason: 'stop', text: text.slice(0, text.indexOf(stop)) });
});
