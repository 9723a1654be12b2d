import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { type GenerateOptions, loadModel, type Model } from '../../src/index.js';
import { writeTinyModel } from '../tiny-model.js';

let backend: Backend;
let model: Model;

beforeAll(async () => {
  backend = await createBackend();
  model = await loadModel(await writeTinyModel(), { backend, blockSize: 1 }); // every token of a prefix counts
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

const greedy: GenerateOptions = { temperature: 0, ignoreEos: true, maxTokens: 8 };

test('a prompt with the last one as prefix reuses it; the tokens are the same', async () => {
  using fresh = await loadModel(model.path, { backend, blockSize: 1 });
  using session = fresh.session();
  const first = await session.generate('the cat sat', greedy).result;
  expect(first.cachedTokens).toBe(0);
  const prompt = [
    ...model.tokenize('the cat sat'),
    ...first.tokens,
    ...model.tokenize('and', { addBos: false }),
  ];
  const second = await session.generate(prompt, greedy).result;
  expect(second.cachedTokens).toBe(first.promptTokens + first.tokens.length - 1);
  expect(second.tokens).toEqual((await model.generate(prompt, greedy).result).tokens);
});

test('a prompt that differs in the middle reuses the common prefix', async () => {
  using session = model.session();
  await session.generate('the cat sat', greedy).result;
  const other = await session.generate('the cow ran', greedy).result;
  expect(other.cachedTokens).toBe(model.tokenize('the c').length);
  expect(other.tokens).toEqual((await model.generate('the cow ran', greedy).result).tokens);
});

test('the same prompt again computes only its last token', async () => {
  using session = model.session();
  const first = await session.generate('the cat sat', greedy).result;
  const again = await session.generate('the cat sat', greedy).result;
  expect(again.cachedTokens).toBe(again.promptTokens - 1);
  expect(again.tokens).toEqual(first.tokens);
});

test('an idle session loses its cache to others, and starts over', async () => {
  using session = model.session();
  const first = await session.generate('the cat sat', greedy).result;
  expect(model.freeBlocks).toBe(model.stats().blocks);
  await model.logits(new Array(96).fill(5)); // the whole cache
  const again = await session.generate('the cat sat', greedy).result;
  expect(again).toMatchObject({ cachedTokens: 0, tokens: first.tokens });
});

test('after an abort, the session keeps the computed tokens', async () => {
  using session = model.session();
  const abort = new AbortController();
  const generation = session.generate('the cat sat', { ...greedy, maxTokens: 40, signal: abort.signal });
  for await (const _ of generation) abort.abort();
  const next = await session.generate('the cat sat', greedy).result;
  expect(next.cachedTokens).toBe(next.promptTokens - 1);
  expect(next.tokens).toEqual((await model.generate('the cat sat', greedy).result).tokens);
});

test('a chat reuses its earlier turns', async () => {
  using session = model.session();
  const turn = { role: 'user', content: 'the cat' };
  const first = await session.chat([turn], greedy).result;
  const messages = [turn, { role: 'bot', content: first.text }, { role: 'user', content: 'why' }];
  const roles = ['bot'];
  const second = await session.chat(messages, { ...greedy, roles }).result;
  expect(second.cachedTokens).toBeGreaterThan(5);
  expect(second.tokens).toEqual((await model.chat(messages, { ...greedy, roles }).result).tokens);
});

test('a cache for one sequence holds several short sessions', async () => {
  using paged = await loadModel(model.path, { backend, blockSize: 4 });
  const sessions = [paged.session(), paged.session()];
  const prompts = ['the cat sat', 'a dog ran'];
  for (const [i, session] of sessions.entries()) await session.generate(prompts[i]!, greedy).result;
  for (const [i, session] of sessions.entries())
    expect((await session.generate(`${prompts[i]} on`, greedy).result).cachedTokens).toBeGreaterThan(3);
  expect(paged.freeBlocks).toBe(paged.stats().blocks);
});

test('reuse: false computes the whole prompt', async () => {
  await model.generate('the cat sat', greedy).result;
  const whole = await model.generate('the cat sat', { ...greedy, reuse: false }).result;
  expect(whole.cachedTokens).toBe(0);
});

test('a disposed session refuses calls', async () => {
  const session = model.session();
  await session.generate('the', greedy).result;
  session.dispose();
  session.dispose();
  expect(model.freeBlocks).toBe(model.stats().blocks);
  await expect(session.generate('the', greedy).result).rejects.toMatchObject({ code: 'DISPOSED' });
});

describe('two concurrent calls of a session', () => {
  test('each equals a single call; the next call reuses the one that ended last', async () => {
    using two = await loadModel(model.path, { backend, sequences: 2 });
    using session = two.session();
    const prompts = ['the cat sat', 'a dog ran'];
    const alone = [];
    for (const prompt of prompts) alone.push((await two.generate(prompt, greedy).result).tokens);
    for (let round = 0; round < 4; round++) {
      const results = await Promise.all(prompts.map((prompt) => session.generate(prompt, greedy).result));
      expect(results.map(({ tokens }) => tokens)).toEqual(alone);
    }
    expect((await session.generate(prompts[0]!, greedy).result).tokens).toEqual(alone[0]);
  });
});
