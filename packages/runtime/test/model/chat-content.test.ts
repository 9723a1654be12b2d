import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { type ChatMessage, type ChatOptions, loadModel, type Model } from '../../src/index.js';

let backend: Backend;
let model: Model;

beforeAll(async () => {
  backend = await createBackend();
  model = await loadModel('demo', { backend });
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

const chat = (content: string): ChatMessage[] => [{ role: 'user', content }];
const promptTokens = async (content: string, options: ChatOptions = {}) =>
  (await model.chat(chat(content), { maxTokens: 0, ...options }).result).promptTokens;

const spelling = '<|end|>';

test('a control token’s spelling in a message is tokenised as text', async () => {
  const asText = model.tokenize(spelling, { addBos: false }).length;
  expect(asText).toBeGreaterThan(1);
  expect(await promptTokens(spelling)).toBe((await promptTokens('')) + asText);
});

test('specialContent makes it one token, also in sessions', async () => {
  const empty = await promptTokens('');
  expect(await promptTokens(spelling, { specialContent: true })).toBe(empty + 1);
  using session = model.session();
  const counts = [false, true].map(async (specialContent) => {
    const { promptTokens: count } = await session.chat(chat(spelling), { maxTokens: 0, specialContent })
      .result;
    return count - empty;
  });
  expect(await counts[0]).toBeGreaterThan(1);
  expect(await counts[1]).toBe(1);
});

test('generate treats a prompt as text, unless special allows control tokens', async () => {
  const count = async (special?: boolean) =>
    (
      await model.generate(`fox${spelling}`, { maxTokens: 0, ...(special !== undefined && { special }) })
        .result
    ).promptTokens;
  expect(await count()).toBe(await count(false));
  expect(await count(true)).toBeLessThan(await count(false));
});
