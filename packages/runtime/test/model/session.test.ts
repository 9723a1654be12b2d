import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { type GenerateOptions, loadModel, type Model } from '../../src/index.js';
import { writeTinyModel } from '../tiny-model.js';

let backend: Backend;
let model: Model;

beforeAll(async () => {
  backend = await createBackend();
  model = await loadModel(await writeTinyModel(), { backend });
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

const greedy: GenerateOptions = { temperature: 0, ignoreEos: true, maxTokens: 8 };

test('a prompt that begins like the last one is not computed again, with the same tokens', async () => {
  using session = model.session();
  const first = await session.generate('the cat sat', greedy).result;
  expect(first.reusedTokens).toBe(0);
  const prompt = [
    ...model.tokenize('the cat sat'),
    ...first.tokens,
    ...model.tokenize('and', { addBos: false }),
  ];
  const second = await session.generate(prompt, greedy).result;
  expect(second.reusedTokens).toBe(first.promptTokens + first.tokens.length - 1);
  expect(second.tokens).toEqual((await model.generate(prompt, greedy).result).tokens);
});

test('a prompt that turns off in the middle reuses what is common', async () => {
  using session = model.session();
  await session.generate('the cat sat', greedy).result;
  const other = await session.generate('the cow ran', greedy).result;
  expect(other.reusedTokens).toBe(model.tokenize('the c').length);
  expect(other.tokens).toEqual((await model.generate('the cow ran', greedy).result).tokens);
});

test('the same prompt again computes its last token only', async () => {
  using session = model.session();
  const first = await session.generate('the cat sat', greedy).result;
  const again = await session.generate('the cat sat', greedy).result;
  expect(again.reusedTokens).toBe(again.promptTokens - 1);
  expect(again.tokens).toEqual(first.tokens);
});

test('a session that idles gives way to others, and starts over after', async () => {
  using session = model.session();
  const first = await session.generate('the cat sat', greedy).result;
  expect(model.freeBlocks).toBe(0);
  await model.generate('a dog', greedy).result;
  const again = await session.generate('the cat sat', greedy).result;
  expect(again).toMatchObject({ reusedTokens: 0, tokens: first.tokens });
});

test('after an abort, the session holds what was computed', async () => {
  using session = model.session();
  const abort = new AbortController();
  const generation = session.generate('the cat sat', { ...greedy, maxTokens: 40, signal: abort.signal });
  for await (const _ of generation) abort.abort();
  const next = await session.generate('the cat sat', greedy).result;
  expect(next.reusedTokens).toBe(next.promptTokens - 1);
  expect(next.tokens).toEqual((await model.generate('the cat sat', greedy).result).tokens);
});

test('a chat reuses its earlier turns', async () => {
  using session = model.session();
  const turn = { role: 'user', content: 'the cat' };
  const first = await session.chat([turn], greedy).result;
  const messages = [turn, { role: 'bot', content: first.text }, { role: 'user', content: 'why' }];
  const second = await session.chat(messages, greedy).result;
  expect(second.reusedTokens).toBeGreaterThan(5);
  expect(second.tokens).toEqual((await model.chat(messages, greedy).result).tokens);
});

test('a paged cache holds several sessions', async () => {
  using paged = await loadModel(model.path, { backend, cache: 'paged', blockSize: 8 });
  const all = paged.freeBlocks;
  const sessions = [paged.session(), paged.session()];
  for (const session of sessions) await session.generate('the cat sat', greedy).result;
  expect(paged.freeBlocks).toBe(all - 6);
  for (const session of sessions)
    expect((await session.generate('the cat sat on', greedy).result).reusedTokens).toBeGreaterThan(5);
  for (const session of sessions) session.dispose();
  expect(paged.freeBlocks).toBe(all);
});

test('a disposed session refuses', async () => {
  const session = model.session();
  await session.generate('the', greedy).result;
  session.dispose();
  session.dispose();
  expect(model.freeBlocks).toBe(1);
  await expect(session.generate('the', greedy).result).rejects.toMatchObject({ code: 'DISPOSED' });
});
