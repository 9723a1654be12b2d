// Ranking, scores and embeddings in the forms of Jina, Cohere, vLLM, llama.cpp and text-embeddings-inference.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Embedder, loadEmbedder, makeSyntheticEncoder } from '@quern/runtime';
import { type RunningServer, serve } from '../src/index.js';
import { json, post } from './serving.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-ranking-forms-'));
let encoder: Embedder;
let server: RunningServer;
beforeAll(async () => {
  const path = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32', ranks: true });
  encoder = await loadEmbedder(path, { backend: 'cpu', onNotice: () => {} });
  server = await serve({ models: { encoder }, port: 0 });
});
afterAll(async () => {
  await server.close();
  encoder.dispose();
  rmSync(folder, { recursive: true });
});

const query = 'a b';
const documents = ['c d', 'a b', 'e f g', 'j'];
const long = 'a b c '.repeat(400);
const ask = async (path: string, body: object) => json(await post(server.url + path, body));
const refused = async (path: string, body: object) => {
  const response = await post(server.url + path, body);
  return { status: response.status, ...(await json(response)) };
};

describe('ranking', () => {
  test.each(['/v1/rerank', '/rerank', '/reranking', '/v1/reranking'])('%s', async (path) => {
    const found = await ask(path, { query, documents, top_n: 2, return_documents: true });
    const { ranked, tokens } = await encoder.rerank(query, documents);
    expect(found).toMatchObject({ object: 'list', model: 'encoder', usage: { total_tokens: tokens } });
    expect(found.results).toEqual(
      ranked.slice(0, 2).map(({ index, score }) => ({
        ...{ index, relevance_score: score, document: { text: documents[index] } },
      })),
    );
  });

  test('/v2/rerank, as Cohere has it', async () => {
    const body = { model: 'encoder', query, documents, top_n: 3 };
    const { ranked, tokens } = await encoder.rerank(query, documents);
    expect(await ask('/v2/rerank', body)).toEqual({
      id: expect.any(String),
      results: ranked.slice(0, 3).map(({ index, score }) => ({ index, relevance_score: score })),
      meta: {
        api_version: { version: '2' },
        billed_units: { search_units: 1 },
        tokens: { input_tokens: tokens },
      },
    });
    const wrong = await refused('/v2/rerank', { ...body, documents: [{ text: 'a' }] });
    expect(wrong).toEqual({ status: 400, message: expect.stringContaining('documents.0') });
  });

  test('/rerank with texts, as TEI has it', async () => {
    const body = { query, texts: documents };
    const { ranked } = await encoder.rerank(query, documents);
    expect(await ask('/rerank', body)).toEqual(ranked.map(({ index, score }) => ({ index, score })));
    expect(await ask('/rerank', { ...body, raw_scores: true, return_text: true })).toEqual(
      ranked.map(({ index, logit }) => ({ index, score: logit, text: documents[index] })),
    );
    const wrong = await refused('/rerank', { query, texts: 'a' });
    expect(wrong).toMatchObject({ status: 400, error_type: 'Validation' });
    expect(wrong.error).toContain('texts');
    expect(await refused('/rerank', { query, texts: ['a', long] })).toMatchObject({
      ...{ status: 400, error: expect.stringContaining('text 1') },
    });
    expect(await ask('/rerank', { query, texts: ['a', long], truncate: true })).toHaveLength(2);
    const left = { ...body, truncate: true, truncation_direction: 'Left' };
    expect((await refused('/rerank', left)).error).toContain('truncation_direction');
  });

  test.each(['/v1/rerank', '/v2/rerank'])('%s: max_tokens_per_doc cuts documents', async (path) => {
    const of = async (texts: string[], more: object = {}) =>
      (await ask(path, { query, documents: texts, ...more })).results;
    const whole = 'a b c d e f';
    const start = encoder.detokenize(
      encoder.tokenizer.encode(whole, { addBos: false, addEos: false }).slice(0, 2),
    );
    expect(encoder.tokenizer.encode(start).length).toBeLessThan(encoder.tokenizer.encode(whole).length);
    expect(await of([whole], { max_tokens_per_doc: 2 })).toEqual(await of([start]));
    expect(await of([whole], { max_tokens_per_doc: 100 })).toEqual(await of([whole]));
    expect(await of([long], { max_tokens_per_doc: 9999 })).toHaveLength(1);
    expect((await post(server.url + path, { query, documents: [long] })).status).toBe(400);
  });

  test('rank_fields is refused by name', async () => {
    const { error } = await refused('/v1/rerank', { query, documents, rank_fields: ['a'] });
    expect(error).toMatchObject({ param: 'rank_fields', message: expect.stringContaining('not supported') });
  });
});

describe.each(['/score', '/v1/score'])('%s, as vLLM has it', (path) => {
  const scores = async (body: object) =>
    (await ask(path, body)).data.map(({ score }: { score: number }) => score);

  test('one query for all documents, and pairs', async () => {
    const { ranked, tokens } = await encoder.rerank(query, documents);
    const expected = [...ranked].sort((a, b) => a.index - b.index).map(({ score }) => score);
    const found = await ask(path, { text_1: query, text_2: documents });
    expect(found).toMatchObject({ object: 'list', model: 'encoder', usage: { total_tokens: tokens } });
    expect(found.data).toEqual(expected.map((score, index) => ({ index, object: 'score', score })));
    expect(await scores({ queries: query, documents })).toEqual(expected);
    const pairs = await scores({ text_1: [query, 'e'], text_2: ['a b', 'c'] });
    const own = await Promise.all([encoder.rerank(query, ['a b']), encoder.rerank('e', ['c'])]);
    expect(pairs).toEqual(own.map((each) => each.ranked[0]!.score));
  });

  test.each([
    [{ text_1: ['a', 'b'], text_2: ['c'] }, 'text_1'],
    [{ text_1: 'a' }, 'text_2'],
    [{ text_1: 5, text_2: 'a' }, 'text_1'],
    [{}, 'queries'],
    [{ text_1: 'a', text_2: [long] }, 'text_2.0'],
  ])('refuses %#', async (body, param) => {
    const { status, error } = await refused(path, body);
    expect([status, error.param]).toEqual([400, param]);
  });
});

describe('embeddings', () => {
  const rows = async (texts: string[]) => {
    const { values, dimensions } = await encoder.embed(texts);
    return texts.map((_, i) => Array.from(values.subarray(i * dimensions, (i + 1) * dimensions)));
  };

  test('/embed, as TEI has it: a list of embeddings', async () => {
    expect(await ask('/embed', { inputs: documents })).toEqual(await rows(documents));
    expect(await ask('/embed', { inputs: 'a b', normalize: true })).toEqual(await rows(['a b']));
    expect(await refused('/embed', { inputs: 5 })).toMatchObject({ status: 400, error_type: 'Validation' });
    expect(await refused('/embed', { inputs: long })).toMatchObject({ error_type: 'Validation' });
    expect(await ask('/embed', { inputs: long, truncate: true })).toHaveLength(1);
    expect((await refused('/embed', { inputs: 'a', normalize: false })).error).toContain('normalize');
  });

  test.each(['/embedding', '/embeddings'])(
    '%s: content as in llama.cpp, input as in OpenAI',
    async (path) => {
      const expected = await rows(documents);
      expect(await ask(path, { content: documents })).toEqual(
        expected.map((row, index) => ({ index, embedding: [row] })),
      );
      const { data } = await ask(path, { input: documents });
      expect(data.map(({ embedding }: { embedding: number[] }) => embedding)).toEqual(expected);
      for (const [body, param] of [
        [{ content: 5 }, 'content'],
        [{ content: 'a', embd_normalize: 0 }, 'embd_normalize'],
        [{ content: 'a', embd_normalize: -1 }, 'embd_normalize'],
        [{ content: ['a', long] }, 'content.1'],
      ] as const)
        expect((await refused(path, body)).error.param).toBe(param);
    },
  );
});

describe('/tokenize with inputs, as TEI has it', () => {
  const bare = (text: string, start: number | null, stop: number | null) => ({
    ...{ id: expect.any(Number), text, special: false, start, stop },
  });

  test('a list of tokens for each text', async () => {
    const [tokens, ...others] = await ask('/tokenize', { inputs: 'a b' });
    const [begin, a, b, end] = encoder.tokenizer.encode('a b');
    expect(tokens).toEqual([
      { id: begin, text: '[CLS]', special: true, start: null, stop: null },
      { id: a, text: 'a', special: false, start: 0, stop: 1 },
      { id: b, text: 'b', special: false, start: 2, stop: 3 },
      { id: end, text: '[SEP]', special: true, start: null, stop: null },
    ]);
    expect(others).toEqual([]);
    const both = { inputs: ['a b', ''], add_special_tokens: false };
    expect(await ask('/tokenize', both)).toEqual([tokens.slice(1, 3), []]);
  });

  test('places count characters of the text; behind an unknown token there are none', async () => {
    const inputs = ['\t A  É', 'ab', 'a 😀 b'];
    expect(await ask('/tokenize', { inputs, add_special_tokens: false })).toEqual([
      [bare('A', 2, 3), bare('É', 5, 6)],
      [bare('a', 0, 1), bare('b', 1, 2)],
      [bare('a', 0, 1), bare('[UNK]', null, null), bare('b', null, null)],
    ]);
  });

  test.each([
    [{ inputs: 5 }, 'inputs'],
    [{ inputs: [] }, 'inputs'],
    [{ inputs: 'a', prompt_name: 'query' }, 'prompt_name'],
    [{ inputs: 'a', add_special_tokens: 1 }, 'add_special_tokens'],
  ])('refuses %j', async (body, says) => {
    const error = { error: expect.stringContaining(says), error_type: 'Validation' };
    expect(await refused('/tokenize', body)).toEqual({ status: 400, ...error });
  });
});

test('/info, as TEI has it', async () => {
  expect(await json(await fetch(`${server.url}/info`))).toMatchObject({
    model_id: 'encoder',
    model_dtype: 'f32',
    model_type: { reranker: { id2label: { 0: 'LABEL_0' }, label2id: { LABEL_0: 0 } } },
    max_input_length: encoder.maxTokens,
    max_client_batch_size: 2048,
    auto_truncate: false,
  });
  const { pooling } = encoder.config;
  const plain = Object.create(encoder, { ranks: { value: false } }) as Embedder;
  const own = await serve({ models: { encoder, plain }, port: 0 });
  expect((await fetch(`${own.url}/info`)).status).toBe(400); // one must be named
  const found = await json(await fetch(`${own.url}/info?model=plain`));
  expect(found).toMatchObject({ model_id: 'plain', model_type: { embedding: { pooling } } });
  await own.close();
});

test('/metrics: requests, tokens and times of embeddings and rankings', async () => {
  const own = await serve({ models: { encoder }, port: 0, metricsPrefix: 'mine_' });
  const texts = ['a b', 'c'];
  await post(`${own.url}/v1/embeddings`, { input: texts });
  await post(`${own.url}/embed`, { inputs: texts });
  await post(`${own.url}/v1/embeddings`, { input: long }); // refused
  await post(`${own.url}/v1/rerank`, { query, documents });
  const text = await (await fetch(`${own.url}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^mine_${name}\\{[^}]*\\} (.*)$`, 'm').exec(text)?.[1]);
  const { tokens } = await encoder.embed(texts);
  expect(value('embedding_requests_total')).toBe(2);
  expect(value('embedding_tokens_total')).toBe(2 * tokens);
  expect(value('embedding_request_latency_seconds_count')).toBe(2);
  expect(value('rerank_requests_total')).toBe(1);
  expect(value('rerank_tokens_total')).toBe((await encoder.rerank(query, documents)).tokens);
  expect(text).not.toContain('quern:');
  await own.close();
});
