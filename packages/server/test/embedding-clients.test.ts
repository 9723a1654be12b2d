// Embeddings through clients that applications use: openai, LangChain, the AI SDK; rankings through Cohere's.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenAIEmbeddings } from '@langchain/openai';
import { type Embedder, loadEmbedder, makeSyntheticEncoder } from '@quern/runtime';
import { embedMany } from 'ai';
import { CohereClient, CohereClientV2 } from 'cohere-ai';
import OpenAI from 'openai';
import { type RunningServer, serve } from '../src/index.js';

const texts = ['a mill', 'a river by the mill', 'a fox'];

const folder = mkdtempSync(join(tmpdir(), 'quern-embedding-clients-'));
let encoder: Embedder;
let server: RunningServer;
/** What the runtime gives, one list per text. */
let rows: number[][];
beforeAll(async () => {
  const path = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32', ranks: true });
  encoder = await loadEmbedder(path, { backend: 'cpu' });
  server = await serve({ models: { encoder }, port: 0, apiKeys: ['secret'] });
  const { values, dimensions } = await encoder.embed(texts);
  rows = texts.map((_, i) => Array.from(values.subarray(i * dimensions, (i + 1) * dimensions)));
});
afterAll(async () => {
  await server.close();
  encoder.dispose();
  rmSync(folder, { recursive: true });
});

/** Notes the bodies of all requests. */
function noting() {
  const bodies: { encoding_format?: string; input: unknown }[] = [];
  const recording: typeof fetch = (url, init) => {
    bodies.push(JSON.parse(String(init?.body)));
    return fetch(url, init);
  };
  return { bodies, fetch: recording };
}

describe('the openai client', () => {
  const client = (fetch_ = fetch) =>
    new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'secret', maxRetries: 0, fetch: fetch_ });

  test('asks for base64 by itself, and for numbers where told: the numbers of the runtime', async () => {
    const { bodies, fetch } = noting();
    const ask = { model: 'encoder', input: texts };
    const { data, usage } = await client(fetch).embeddings.create(ask);
    expect(data.map(({ embedding }) => embedding)).toEqual(rows);
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(usage.prompt_tokens).toBe((await encoder.embed(texts)).tokens);
    const plain = await client(fetch).embeddings.create({ ...ask, encoding_format: 'float' });
    expect(plain.data).toEqual(data);
    expect(bodies.map(({ encoding_format }) => encoding_format)).toEqual(['base64', 'float']);
  });

  test('another number of dimensions is refused', async () => {
    const wrong = client().embeddings.create({ model: 'encoder', input: 'a', dimensions: 3 });
    await expect(wrong).rejects.toMatchObject({ status: 400, param: 'dimensions' });
  });
});

test('LangChain’s OpenAIEmbeddings: documents in batches, a query', async () => {
  const { bodies, fetch } = noting();
  const embeddings = new OpenAIEmbeddings({
    model: 'encoder',
    apiKey: 'secret',
    batchSize: 2,
    maxRetries: 0,
    configuration: { baseURL: `${server.url}/v1`, fetch },
  });
  const documents = await embeddings.embedDocuments(texts);
  expect(documents.map(({ length }) => length)).toEqual(rows.map(({ length }) => length));
  const errors = documents.flatMap((row, i) => row.map((value, j) => Math.abs(value - rows[i]![j]!)));
  expect(Math.max(...errors)).toBeLessThan(1e-5); // kernels may add batches in another order
  expect(bodies.map(({ input }) => input)).toEqual([texts.slice(0, 2), texts.slice(2)]);
  expect(await embeddings.embedQuery(texts[0]!)).toEqual(
    Array.from((await encoder.embed([texts[0]!])).values),
  );
});

test('the AI SDK’s OpenAI-compatible provider', async () => {
  const provider = createOpenAICompatible({ name: 'quern', baseURL: `${server.url}/v1`, apiKey: 'secret' });
  const { embeddings, usage } = await embedMany({ model: provider.embeddingModel('encoder'), values: texts });
  expect(embeddings).toEqual(rows);
  expect(usage.tokens).toBeGreaterThan(0);
});

describe('Cohere’s client', () => {
  const settings = () => ({ token: 'secret', environment: server.url });
  const ask = { model: 'encoder', query: 'mill', documents: texts, topN: 2 };
  const best = async () => (await encoder.rerank(ask.query, texts)).ranked.slice(0, ask.topN);
  const shown = ({ index, score }: { readonly index: number; readonly score: number }) => ({
    index,
    relevanceScore: score,
  });

  test('the second version', async () => {
    const client = new CohereClientV2(settings());
    const { results, meta } = await client.rerank({ ...ask, maxTokensPerDoc: 512, priority: 1 });
    expect(results).toEqual((await best()).map(shown));
    expect(meta).toMatchObject({ apiVersion: { version: '2' }, billedUnits: { searchUnits: 1 } });
    await expect(client.rerank({ ...ask, model: 'none' })).rejects.toMatchObject({
      statusCode: 404,
      body: { message: expect.stringContaining('"none"') },
    });
  });

  test.each([
    ['texts', {}],
    ['objects, ranked by their text', { documents: texts.map((text) => ({ text })), rankFields: ['text'] }],
  ])('the first version: %s', async (_, more) => {
    const asked = { ...ask, ...more, returnDocuments: true };
    const { results } = await new CohereClient(settings()).rerank(asked);
    const found = (await best()).map((each) => ({ ...shown(each), document: { text: texts[each.index] } }));
    expect(results).toEqual(found);
  });

  test('other fields of objects are refused', async () => {
    const asked = { ...ask, documents: [{ text: 'a', title: 'b' }], rankFields: ['title', 'text'] };
    await expect(new CohereClient(settings()).rerank(asked)).rejects.toMatchObject({
      statusCode: 400,
      body: { error: { param: 'rank_fields' } },
    });
  });
});
