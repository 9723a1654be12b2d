// Embeddings through clients that applications use: openai, LangChain, the AI SDK, Cohere's; rankings through Cohere's.
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

  test('fewer dimensions: the first numbers, of length 1; more are refused', async () => {
    const { data } = await client().embeddings.create({ model: 'encoder', input: texts[0]!, dimensions: 3 });
    const first = rows[0]!.slice(0, 3);
    expect(data[0]!.embedding).toHaveLength(3);
    for (const [i, value] of data[0]!.embedding.entries())
      expect(value).toBeCloseTo(first[i]! / Math.hypot(...first), 6);
    const wrong = client().embeddings.create({ model: 'encoder', input: 'a', dimensions: 9999 });
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

  describe('embed', () => {
    const client = () => new CohereClientV2({ ...settings(), maxRetries: 0 });
    const asked = { model: 'encoder', inputType: 'search_document', texts } as const;

    test('the numbers of the runtime, as texts and as inputs', async () => {
      const { embeddings, texts: given, meta } = await client().embed(asked);
      expect(embeddings).toEqual({ float: rows });
      expect(given).toEqual(texts);
      const { tokens } = await encoder.embed(texts);
      expect(meta).toEqual({ apiVersion: { version: '2' }, billedUnits: { inputTokens: tokens } });
      const inputs = texts.map((text) => ({ content: [{ type: 'text' as const, text }] }));
      const { model, inputType } = asked;
      const again = await client().embed({ model, inputType, inputs, priority: 3 });
      expect(again.embeddings).toEqual({ float: rows });
    });

    test('every type', async () => {
      const types = ['float', 'int8', 'uint8', 'binary', 'ubinary', 'base64'] as const;
      const { embeddings } = await client().embed({ ...asked, embeddingTypes: [...types] });
      expect(Object.keys(embeddings).sort()).toEqual([...types].sort());
      for (const [i, row] of rows.entries()) {
        const most = Math.max(...row.map(Math.abs));
        const bytes = row.map((value) => Math.round((value / most) * 127));
        const bits = row.map((value) => (value > 0 ? '1' : '0')).join('');
        const packed = bits.match(/.{1,8}/g)!.map((eight) => Number.parseInt(eight.padEnd(8, '0'), 2));
        expect(Math.max(...bytes.map(Math.abs))).toBe(127);
        embeddings.int8![i]!.forEach((value, at) => void expect(value).toBeCloseTo(bytes[at]!, -0.4));
        expect(embeddings.uint8![i]).toEqual(embeddings.int8![i]!.map((value) => value + 128));
        expect(embeddings.ubinary![i]).toEqual(packed);
        expect(embeddings.binary![i]).toEqual(packed.map((byte) => byte - 128));
        const floats = Buffer.from(embeddings.base64![i]!, 'base64');
        expect(row.map((_, at) => floats.readFloatLE(4 * at))).toEqual(row);
      }
    });

    test('long texts are refused, or cut off with a warning', async () => {
      const long = { ...asked, texts: ['a mill', 'mill '.repeat(4 * encoder.maxTokens)] };
      for (const more of [{}, { truncate: 'NONE' as const }])
        await expect(client().embed({ ...long, ...more })).rejects.toMatchObject({
          statusCode: 400,
          body: { message: expect.stringMatching(/^texts\.1: .*tokens/) },
        });
      const cut = await client().embed({ ...long, truncate: 'END' });
      expect(cut.meta?.warnings).toEqual(['1 of 2 texts was cut off']);
      const { values } = await encoder.embed(long.texts, { maxTokens: 5, truncate: true });
      const short = await client().embed({ ...long, maxTokens: 5 });
      expect(short.embeddings.float!.flat()).toEqual(Array.from(values));
    });

    test('the input type chooses the prompt of the model, if it has one', async () => {
      const { prompts } = encoder;
      Object.assign(encoder, { prompts: { Query: 'find: ' } });
      const { values } = await encoder.embed(texts, { prompt: 'Query' });
      const query = await client().embed({ ...asked, inputType: 'search_query' });
      expect(query.embeddings.float!.flat()).toEqual(Array.from(values));
      expect((await client().embed(asked)).embeddings.float).toEqual(rows);
      Object.assign(encoder, { prompts });
    });

    test.each<[string, object, string]>([
      ['images', { images: ['data:image/png;base64,AA=='] }, 'images'],
      ['cutting the start off', { truncate: 'START' }, 'truncate'],
      ['too many dimensions', { outputDimension: 9999 }, 'output_dimension'],
      ['an input type of images', { inputType: 'image' }, 'input_type'],
      ['no texts', { texts: undefined }, 'texts'],
      ['texts and inputs', { inputs: [{ content: [{ type: 'text', text: 'a' }] }] }, 'inputs'],
    ])('%s: status 400 that names the field', async (_, more, field) => {
      await expect(client().embed({ ...asked, ...more } as never)).rejects.toMatchObject({
        statusCode: 400,
        body: { message: expect.stringContaining(field) },
      });
    });
  });

  test('other fields of objects are refused', async () => {
    const asked = { ...ask, documents: [{ text: 'a', title: 'b' }], rankFields: ['title', 'text'] };
    await expect(new CohereClient(settings()).rerank(asked)).rejects.toMatchObject({
      statusCode: 400,
      body: { error: { param: 'rank_fields' } },
    });
  });
});
