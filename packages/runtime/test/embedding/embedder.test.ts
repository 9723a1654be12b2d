import { getEventListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend as createReference } from '@quern/backend-reference';
import { type Backend, yieldToEventLoop } from '@quern/core';
import { makeSyntheticEncoder } from '@quern/models';
import { batchesByLength } from '../../src/embedding/batches.js';
import { pairedTexts, singleTexts } from '../../src/embedding/encode-texts.js';
import {
  describeFile,
  type EmbeddedText,
  type Embedder,
  loadEmbedder,
  loadModel,
  type Progress,
} from '../../src/index.js';
import { countingBackend, hasCpu } from '../backends.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-embedding-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const [embeds, ranks] = [join(folder, 'embeds.gguf'), join(folder, 'ranks.gguf')];
beforeAll(async () => {
  await makeSyntheticEncoder(embeds, { shape: 'tiny', format: 'f32' });
  await makeSyntheticEncoder(ranks, { shape: 'tiny', format: 'f32', ranks: true });
});

/** `count` texts of 0 to 61 words, always the same. */
const texts = (count: number): string[] =>
  Array.from({ length: count }, (_, i) =>
    Array.from({ length: (i * 37) % 62 }, (_, j) => 'abcdefghij'[(i + j * j) % 10]).join(' '),
  );

const row = ({ values, dimensions }: Awaited<ReturnType<Embedder['embed']>>, i: number) =>
  values.subarray(i * dimensions, (i + 1) * dimensions);

const distance = (a: Float32Array, b: Float32Array) =>
  Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));

const abortedAfter = (steps: number) => {
  const controller = new AbortController();
  let seen = 0;
  const onProgress = () => {
    if (++seen === steps) controller.abort(new Error('enough'));
  };
  return { signal: controller.signal, onProgress };
};

test('batches: every text once, at most the given tokens, similar lengths', () => {
  const lengths = Array.from({ length: 100 }, (_, i) => 1 + ((i * 29) % 40));
  const batches = batchesByLength([...lengths, 500], 64);
  expect(batches.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 101 }, (_, i) => i));
  expect(batches[0]).toEqual([100]);
  for (const batch of batches.slice(1))
    expect(batch.reduce((sum, i) => sum + lengths[i]!, 0)).toBeLessThanOrEqual(64);
  expect(batchesByLength([], 64)).toEqual([]);
});

/** Backends, with the number of texts for each. */
const backends: readonly (readonly [string, () => Promise<Backend>, number])[] = [
  ['reference', createReference, 12],
  ...(hasCpu ? [['cpu', createCpu, 150] as const] : []),
];

for (const [on, open, count] of backends)
  describe(`embeddings on ${on}`, () => {
    let backend: Backend;
    let model: Embedder;
    beforeAll(async () => {
      backend = await open();
      model = await loadEmbedder(embeds, { backend });
    });
    afterAll(() => {
      model.dispose();
      backend.dispose();
    });

    test('many texts: the vectors of single texts, in order, of length 1', async () => {
      const some = texts(count);
      const progress: Progress<'embed'>[] = [];
      const all = await model.embed(some, { onProgress: (each) => progress.push(each) });
      expect([all.values.length, all.dimensions, all.truncated]).toEqual([count * 32, 32, 0]);
      expect(all.tokens).toBe(
        some.reduce((sum, text) => sum + text.split(' ').filter(Boolean).length + 2, 0),
      );
      expect(progress.at(-1)).toEqual({ phase: 'embed', done: count, total: count, tokens: all.tokens });
      for (const i of [0, 1, count / 2, count - 1]) {
        const alone = row(await model.embed([some[i]!]), 0);
        expect(Math.hypot(...alone)).toBeCloseTo(1, 5);
        expect(distance(row(all, i), alone)).toBeLessThan(2e-6);
      }
      expect(distance(row(all, 1), row(all, 2))).toBeGreaterThan(0.01);
    });

    test('one by one: every text once, with its index, and the vectors of embed', async () => {
      const some = texts(count);
      const all = await model.embed(some);
      const found = new Map<number, EmbeddedText>();
      const progress: Progress<'embed'>[] = [];
      const onProgress = (each: Progress<'embed'>) => progress.push(each);
      for await (const each of model.embedEach(some, { onProgress })) found.set(each.index, each);
      expect([...found.keys()].sort((a, b) => a - b)).toEqual([...some.keys()]);
      for (const [index, { values }] of found) expect(values).toEqual(row(all, index));
      const sum = [...found.values()].reduce((total, { tokens }) => total + tokens, 0);
      expect(sum).toBe(all.tokens);
      expect(progress.at(-1)).toEqual({ phase: 'embed', done: count, total: count, tokens: sum });
      for await (const each of model.embedEach(['a '.repeat(500)], { truncate: true }))
        expect(each).toMatchObject({ index: 0, truncated: true, tokens: 64 });
    });

    test('one by one: what was read before an abort, or before the loop is left, is kept', async () => {
      const some = texts(8 * count);
      const all = await model.embed(some);
      const abort = new AbortController();
      const kept: EmbeddedText[] = [];
      const reading = async () => {
        for await (const each of model.embedEach(some, { signal: abort.signal })) {
          kept.push(each);
          if (kept.length === count) abort.abort();
        }
      };
      await expect(reading()).rejects.toMatchObject({ code: 'ABORTED' });
      expect(kept.length).toBeGreaterThanOrEqual(count);
      expect(kept.length).toBeLessThan(some.length);
      for (const { index, values } of kept) expect(values).toEqual(row(all, index));
      for await (const each of model.embedEach(some)) {
        expect(each.values).toEqual(row(all, each.index));
        break;
      }
    });

    test('a text that is too long is refused, or truncated and counted; the prefix comes first', async () => {
      const [long, cut] = ['a '.repeat(500), 'a '.repeat(62)];
      for (const text of [long, new Array<number>(502).fill(5)])
        for (const options of [{}, { truncate: false, maxTokens: 64 }])
          await expect(model.embed(['b', text], options)).rejects.toMatchObject({
            ...{ name: 'TextTooLongError', code: 'PROMPT_TOO_LONG', index: 1, tokens: 502, maxTokens: 64 },
            message: expect.stringContaining('text 1 has 502 tokens; the limit is 64'),
          });
      const both = await model.embed([long, cut], { truncate: true });
      expect(await model.embed([long, cut], { maxTokens: 64 })).toEqual(both);
      expect(both.truncated).toBe(1);
      expect(distance(row(both, 0), row(both, 1))).toBeLessThan(2e-6);
      const prefixed = await model.embed(['b c'], { prefix: 'a ' });
      expect(distance(prefixed.values, (await model.embed(['a b c'])).values)).toBeLessThan(1e-6);
    });

    test('no texts, an empty text, lone surrogates, a very long word', async () => {
      expect((await model.embed([])).values).toEqual(new Float32Array(0));
      const odd = await model.embed(['', '\ud800', 'x'.repeat(1_000_000)]);
      expect(odd.values.every(Number.isFinite)).toBe(true);
      expect(odd.tokens).toBe(2 + 2 + 3);
      expect(distance(row(odd, 0), row(odd, 1))).toBeLessThan(1e-6);
      expect([odd.length, (await model.embed([])).length]).toEqual([3, 0]);
      expect([odd.at(1), odd.at(-1)]).toEqual([row(odd, 1), row(odd, 2)]);
      for (const index of [3, -4, 0.5])
        expect(() => odd.at(index)).toThrow(`[at] index is ${index}; there are 3 embeddings`);
      const ids = model.tokenize('a b');
      expect(distance((await model.embed([ids])).at(0), (await model.embed(['a b'])).at(0))).toBe(0);
      expect(model.detokenize(ids)).toBe('a b');
    });

    test('an abort ends a call; the model stays usable', async () => {
      const before = await model.embed(['a b']);
      await expect(model.embed(texts(8 * count), abortedAfter(1))).rejects.toMatchObject({ code: 'ABORTED' });
      await expect(model.embed(['a'], { signal: AbortSignal.abort() })).rejects.toMatchObject({
        code: 'ABORTED',
      });
      expect((await model.embed(['a b'])).values).toEqual(before.values);
    });
  });

test('one by one: leaving the loop, an abort and dispose end the running steps; nothing is left', async () => {
  const { backend, live } = countingBackend();
  const model = await loadEmbedder(embeds, { backend });
  const some = texts(30);
  const { signal } = new AbortController();
  for await (const _ of model.embedEach(some, { signal })) break;
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  const unread = model.embedEach(some);
  await unread.next();
  await unread.return();
  await expect(unread.next()).resolves.toEqual({ done: true, value: undefined });
  const wrong = model.embedEach(some, { maxTokens: 65 });
  await expect(wrong.next()).rejects.toMatchObject({ code: 'BAD_OPTION' });
  const failing = model.embedEach(some, {
    onProgress() {
      throw new Error('a listener');
    },
  });
  await expect(failing.next()).rejects.toThrow('a listener');
  const disposed = model.embedEach(some);
  await disposed.next();
  model.dispose();
  await expect(Promise.all(some.map(() => disposed.next()))).rejects.toMatchObject({ code: 'DISPOSED' });
  await yieldToEventLoop(); // weights are freed in the turn after their last step
  expect(live()).toEqual({ buffers: 0, weights: 0 });
  backend.dispose();
});

test('the file describes itself', async () => {
  using embedder = await loadEmbedder(embeds, { backend: 'reference' });
  const { byteLength, model } = await describeFile(embeds);
  const { parameters } = model!;
  expect(embedder.file).toEqual({ kind: 'gguf', parameters, byteLength, format: 'f32' });
});

test('a cross-encoder orders texts by their logits, equal to the logits of single texts', async () => {
  using backend = await createReference();
  using model = await loadEmbedder(ranks, { backend });
  const some = texts(5);
  const progress: Progress<'rerank'>[] = [];
  const { ranked, tokens } = await model.rerank('a b c', some, { onProgress: (each) => progress.push(each) });
  expect(progress.at(-1)).toEqual({ phase: 'rerank', done: 5, total: 5, tokens });
  expect(new Set(ranked.map(({ index }) => index)).size).toBe(5);
  expect(tokens).toBeGreaterThan(5 * 6);
  for (const [i, { index, logit, score }] of ranked.entries()) {
    if (i > 0) expect(logit).toBeLessThanOrEqual(ranked[i - 1]!.logit);
    expect(score).toBeCloseTo(1 / (1 + Math.exp(-logit)), 12);
    const alone = await model.rerank('a b c', [some[index]!]);
    expect(alone.ranked[0]!.logit).toBeCloseTo(logit, 5);
  }
  const query = { code: 'PROMPT_TOO_LONG', index: undefined, tokens: 100, maxTokens: 64 };
  await expect(model.rerank('a '.repeat(100), some)).rejects.toMatchObject(query);
  const long = ['b', 'c '.repeat(80)];
  await expect(model.rerank('a a', long)).rejects.toMatchObject({
    ...{ code: 'PROMPT_TOO_LONG', index: 1, tokens: 85, maxTokens: 64 },
    message: expect.stringContaining('the query and text 1 have 85 tokens; the limit is 64'),
  });
  expect((await model.rerank('a a', long, { truncate: true })).truncated).toBe(1);
});

(hasCpu ? test : test.skip)('a cross-encoder gives the same logits on backend-cpu', async () => {
  using reference = await createReference();
  using cpu = await createCpu();
  using model = await loadEmbedder(ranks, { backend: reference });
  using other = await loadEmbedder(ranks, { backend: cpu });
  const [want, got] = [await model.rerank('a b', texts(3)), await other.rerank('a b', texts(3))];
  for (const [i, { index, logit }] of got.ranked.entries()) {
    expect(index).toBe(want.ranked[i]!.index);
    expect(logit).toBeCloseTo(want.ranked[i]!.logit, 4);
  }
});

test('only the beginning of a 20 MB text is read', async () => {
  using backend = await createReference();
  using model = await loadEmbedder(ranks, { backend });
  const huge = 'a b c d '.repeat(2_500_000);
  const encoded: number[] = [];
  const { tokenizer } = model;
  const watched = Object.assign(Object.create(tokenizer) as typeof tokenizer, {
    async encodeInTurns(...[text, options]: Parameters<typeof tokenizer.encodeInTurns>) {
      const ids = await tokenizer.encodeInTurns(text, options);
      encoded.push(ids.length);
      return ids;
    },
  });
  const { maxTokens } = model;
  const limit = { maxTokens, truncate: true };
  expect(await singleTexts(watched, '', limit).encode(huge, 0)).toMatchObject({ truncated: true });
  const pairs = await pairedTexts(watched, 'a', model.config, limit);
  expect(await pairs.encode(huge, 0)).toMatchObject({ truncated: true });
  await expect(pairedTexts(watched, huge, model.config, limit)).rejects.toThrow(
    'the query has more than 100000 tokens',
  );
  await expect(model.embed([huge])).rejects.toThrow('text 0 has more than 100000 tokens; the limit is');
  expect(Math.max(...encoded)).toBeLessThan(200_000); // of five million
  const cut = { truncate: true };
  const [long, short] = [await model.embed([huge], cut), await model.embed([huge.slice(0, 2000)], cut)];
  expect(distance(long.values, short.values)).toBeLessThan(1e-6);
  expect([long.truncated, long.tokens]).toEqual([1, maxTokens]);
  await expect(model.rerank(huge, ['a'])).rejects.toMatchObject({ code: 'PROMPT_TOO_LONG' });
});

test('invalid input is refused; everything is freed', async () => {
  const { backend, live } = countingBackend();
  const model = await loadEmbedder(embeds, { backend });
  await expect(model.rerank('a', ['b'])).rejects.toMatchObject({ code: 'NO_CLASSIFIER' });
  await expect(model.embed(['a'], { prompt: 'query' })).rejects.toThrow('give `prefix` instead');
  await expect(model.embed(['a', 1 as never])).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
  await expect(model.embed(['a'], { maxTokens: 65 })).rejects.toMatchObject({ code: 'BAD_OPTION' });
  const running = model.embed(['a', 'b']);
  setImmediate(() => model.dispose());
  await expect(running).rejects.toMatchObject({ name: 'RuntimeError', code: 'DISPOSED' });
  model.dispose();
  await expect(model.embed(['a'])).rejects.toMatchObject({ code: 'DISPOSED' });
  await expect(loadModel(embeds, { backend })).rejects.toMatchObject({ code: 'WRONG_KIND' });
  await expect(loadEmbedder(embeds, { backend, pooling: 'max' as never })).rejects.toThrow(
    "must be 'cls' or 'mean' or 'last'",
  );
  await expect(loadEmbedder(embeds, { backend, signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'ABORTED',
  });
  const small = countingBackend(1000);
  await expect(loadEmbedder(embeds, { backend: small.backend })).rejects.toMatchObject({
    code: 'MODEL_TOO_LARGE',
  });
  expect(live()).toEqual({ buffers: 0, weights: 0 });
  for (const each of [backend, small.backend]) each.dispose();
});
