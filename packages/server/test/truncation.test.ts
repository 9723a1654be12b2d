// Texts that are too long for the model: refused with the numbers and the field, or cut off and counted where the
// request says so.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Embedder, loadEmbedder, type Model, makeSyntheticEncoder } from '@quern/runtime';
import { createHandler, type Handler } from '../src/index.js';
import { json, loadDemo } from './serving.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-truncation-'));
let encoder: Embedder;
let demo: Model;
let handler: Handler;
beforeAll(async () => {
  const path = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32', ranks: true });
  encoder = await loadEmbedder(path, { backend: 'cpu', onNotice: () => {} });
  demo = await loadDemo();
  handler = createHandler({ models: { encoder, demo } });
});
afterAll(() => {
  encoder.dispose();
  demo.dispose();
  rmSync(folder, { recursive: true });
});

const ask = async (path: string, body: object) => {
  const headers = { 'content-type': 'application/json' };
  const request = new Request(`http://x${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const response = await handler.fetch(request);
  return { status: response.status, ...(await json(response)) };
};
const embed = (body: object) => ask('/v1/embeddings', { model: 'encoder', ...body });
const rerank = (body: object) => ask('/v1/rerank', { model: 'encoder', query: 'a b', ...body });

const long = 'a '.repeat(600);
const ids = new Array<number>(602).fill(5);

test.each([
  ['embeddings', { input: long }, 'input', 'text 0 has 602 tokens; the limit is 64'],
  ['embeddings', { input: ids }, 'input', 'text 0 has 602 tokens; the limit is 64'],
  ['embeddings', { input: ['b', long] }, 'input.1', 'text 1 has 602 tokens; the limit is 64'],
  ['embeddings', { input: ['b', long], truncate: false }, 'input.1', 'text 1 has 602 tokens'],
  ['embeddings', { input: [[5], ids] }, 'input.1', 'text 1 has 602 tokens; the limit is 64'],
  [
    'rerank',
    { query: 'a b', documents: ['b', long] },
    'documents.1',
    'the query and text 1 have 605 tokens; the limit is 64',
  ],
  ['rerank', { query: long, documents: ['b'] }, 'query', 'the query has 600 tokens: no room'],
  ['rerank', { query: long, documents: ['b'], truncate: true }, 'query', 'the query has 600 tokens: no room'],
])('/v1/%s %#: 400 with both numbers', async (route, body, param, message) => {
  const { status, error } = await ask(`/v1/${route}`, { model: 'encoder', ...body });
  expect([status, error.code, error.param]).toEqual([400, 'context_length_exceeded', param]);
  expect(error.message).toContain(message);
});

test.each([{ truncate: true }, { truncate_prompt_tokens: -1 }, { truncate_prompt_tokens: 64 }])(
  '%j: cut off at the end and counted',
  async (allowed) => {
    for (const [input, tokens] of [
      [['b', long, long], 3 + 64 + 64],
      [[[5], ids, ids], 1 + 64 + 64],
    ] as const) {
      const cut = await embed({ input, ...allowed });
      expect(cut.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens, truncated_texts: 2 });
      const { values } = await encoder.embed(input, { truncate: true });
      expect(cut.data.flatMap(({ embedding }: { embedding: number[] }) => embedding)).toEqual([...values]);
    }
    const ranked = await rerank({ documents: [long, 'b'], ...allowed });
    expect([ranked.status, ranked.results.length, ranked.usage.truncated_texts]).toEqual([200, 2, 1]);
  },
);

test('nothing to cut off: the count is 0; where nothing may be cut off, there is none', async () => {
  expect((await embed({ input: 'b', truncate: true })).usage.truncated_texts).toBe(0);
  expect((await embed({ input: 'b' })).usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
  const fewer = await embed({ input: 'a a a', truncate_prompt_tokens: 4 });
  expect(fewer.usage).toEqual({ prompt_tokens: 4, total_tokens: 4, truncated_texts: 1 });
});

test.each([
  [{ truncate_prompt_tokens: 65 }, 'truncate_prompt_tokens is 65; it must be from 3 to 64, or -1 for 64'],
  [{ truncate_prompt_tokens: 0 }, 'truncate_prompt_tokens is 0; it must be from 3'],
  [{ truncate_prompt_tokens: -2 }, 'truncate_prompt_tokens'],
  [{ truncate_prompt_tokens: 9, truncate: false }, 'contradicts truncate: false'],
])('%j is refused', async (fields, message) => {
  for (const { status, error } of [
    await embed({ input: 'b', ...fields }),
    await rerank({ documents: ['b'], ...fields }),
  ]) {
    expect([status, error.param]).toEqual([400, 'truncate_prompt_tokens']);
    expect(error.message).toContain(message);
  }
});

const text = 'the fox '.repeat(400);
test.each([
  ['chat/completions', { messages: [{ role: 'user', content: text }] }, 'messages'],
  ['completions', { prompt: text }, 'prompt'],
  ['completions', { prompt: ['a', text] }, 'prompt'],
  ['responses', { input: text }, 'input'],
])('a prompt that is too long for /v1/%s names its field', async (route, body, param) => {
  const { status, error } = await ask(`/v1/${route}`, { model: 'demo', ...body });
  expect([status, error.code, error.param]).toEqual([400, 'context_length_exceeded', param]);
  expect(error.message).toMatch(/\d+ tokens.*256/);
});

test.each([
  ['/v1/completions', { prompt: [99_999] }, 'prompt'],
  ['/detokenize', { tokens: [99_999] }, 'tokens'],
])('a token that does not exist in %s', async (path, body, param) => {
  const { status, error } = await ask(path, { model: 'demo', ...body });
  expect([status, error.param]).toEqual([400, param]);
});
