// Aborts, readers that leave, errors: nothing stays held.
import type { Model } from '@quern/runtime';
import { generateText, NoSuchModelError, streamText, UnsupportedFunctionalityError } from 'ai';
import { createQuern, type QuernProvider } from '../src/index.js';
import { loadDemo } from './models.js';

let model: Model;
let quern: QuernProvider;
let allBlocks: number;
beforeAll(async () => {
  model = await loadDemo();
  quern = createQuern({ models: { demo: model } });
  allBlocks = model.freeBlocks;
});
afterAll(() => model.dispose());
let before: number;
beforeEach(() => {
  before = model.stats().generatedTokens;
});
/** No test reads a generation to its end: none may go on after an abort. */
afterEach(() => {
  expect(model.freeBlocks).toBe(allBlocks);
  expect(model.stats().generatedTokens - before).toBeLessThan(maxOutputTokens / 2);
});

const maxOutputTokens = 900;

const ask = () => ({
  model: quern('demo'),
  prompt: 'Tell me a story.',
  temperature: 0,
  maxOutputTokens,
  providerOptions: { quern: { ignoreEos: true } },
});

const until = async (holds: () => boolean): Promise<void> => {
  for (let i = 0; i < 1000 && !holds(); i++) await new Promise((resolve) => setTimeout(resolve, 5));
};

test('an abort while a step runs ends generateText', async () => {
  const ending = new AbortController();
  const generation = generateText({ ...ask(), abortSignal: ending.signal });
  await until(() => model.freeBlocks < allBlocks);
  setImmediate(() => ending.abort());
  await expect(generation).rejects.toMatchObject({ name: 'AbortError' });
});

test('an abort between two pieces ends streamText', async () => {
  const ending = new AbortController();
  const stream = streamText({ ...ask(), abortSignal: ending.signal });
  const kinds: string[] = [];
  for await (const { type } of stream.fullStream) {
    kinds.push(type);
    if (kinds.filter((kind) => kind === 'text-delta').length === 3) ending.abort();
  }
  expect(kinds.at(-1)).toBe('abort');
  expect(kinds).not.toContain('error');
  expect(kinds.filter((kind) => kind === 'text-delta').length).toBeLessThan(10);
  await until(() => model.freeBlocks === allBlocks);
});

test('a stream that is aborted in a step, or cancelled, frees its blocks', async () => {
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'A story.' }] }];
  const ending = new AbortController();
  const { maxOutputTokens, providerOptions } = ask();
  const call = { prompt, maxOutputTokens, providerOptions };
  const { stream } = await quern('demo').doStream({ ...call, abortSignal: ending.signal });
  const reader = stream.getReader();
  for (let i = 0; i < 5; i++) await reader.read();
  expect(model.freeBlocks).toBeLessThan(allBlocks);
  const next = reader.read();
  ending.abort(new Error('enough'));
  const rest = async () => {
    for (let part = await next; !part.done; ) part = await reader.read();
  };
  await expect(rest()).rejects.toThrow('enough');
  await until(() => model.freeBlocks === allBlocks);
  const second = (await quern('demo').doStream(call)).stream.getReader();
  for (let i = 0; i < 5; i++) await second.read();
  expect(model.freeBlocks).toBeLessThan(allBlocks);
  await second.cancel();
  await until(() => model.freeBlocks === allBlocks);
});

test('an aborted signal begins nothing', async () => {
  const abortSignal = AbortSignal.abort();
  await expect(generateText({ ...ask(), abortSignal })).rejects.toMatchObject({ name: 'AbortError' });
});

test('errors of the runtime, whole and streamed', async () => {
  const long = { ...ask(), prompt: 'word '.repeat(2000) };
  await expect(generateText(long)).rejects.toMatchObject({ code: 'PROMPT_TOO_LONG' });
  const errors: unknown[] = [];
  const stream = streamText({ ...long, onError: ({ error }) => void errors.push(error) });
  await stream.consumeStream();
  expect(errors).toEqual([expect.objectContaining({ code: 'PROMPT_TOO_LONG' })]);
  expect(await stream.finishReason).toBe('error');
});

test('contents that no text model reads', async () => {
  const image = { type: 'file' as const, data: new Uint8Array(8), mediaType: 'image/png' };
  const refused = generateText({ ...ask(), prompt: [{ role: 'user', content: [image] }] });
  await expect(refused).rejects.toThrow('image/png');
  await expect(refused).rejects.toBeInstanceOf(UnsupportedFunctionalityError);
});

test('names without a model, and models of another kind', () => {
  for (const [wrong, message] of [
    [() => quern('none'), 'createQuern was given "demo"'],
    [() => quern('constructor'), 'there is no model "constructor"'],
    [() => quern.embeddingModel('demo'), 'embeddingModel needs one for embedding'],
    [() => quern.transcriptionModel('demo'), 'needs one for speech'],
    [() => quern.imageModel('demo'), 'no image models'],
  ] as const) {
    expect(wrong).toThrow(message);
    expect(wrong).toThrow(NoSuchModelError);
  }
});
