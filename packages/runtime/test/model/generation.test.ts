import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import fc from 'fast-check';
import { Runner } from '../../src/engine/runner/runner.js';
import { type GenerateOptions, type Generation, loadModel, type Model } from '../../src/index.js';
import { writeTinyModel } from '../tiny-model.js';

let path: string;
let backend: Backend;
let model: Model;

beforeAll(async () => {
  path = await writeTinyModel();
  backend = await createBackend();
  model = await loadModel(path, { backend });
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

const greedy: GenerateOptions = { temperature: 0, ignoreEos: true };

async function read(generation: AsyncIterable<{ text: string; tokens: readonly number[] }>) {
  const pieces = [];
  for await (const piece of generation) pieces.push(piece);
  return {
    text: pieces.map(({ text }) => text).join(''),
    tokens: pieces.flatMap(({ tokens }) => tokens),
    pieces,
  };
}

/** Reads tokens, and counts those that come before the engine has counted their chain. */
function readSlowly(generation: Generation) {
  const reader = generation[Symbol.asyncIterator]();
  const before = model.stats().generatedTokens;
  async function readTokens(most: number): Promise<number> {
    let early = 0;
    for (let seen = 0; seen < most; ) {
      const { value, done } = await reader.next();
      if (done) break;
      seen += value!.tokens.length;
      if (seen > model.stats().generatedTokens - before) early++;
    }
    await reader.next();
    return early;
  }
  return { result: generation.result, read: readTokens };
}

describe('reading a generation', () => {
  test('the pieces join to the result', async () => {
    const generation = model.generate('the cat', { ...greedy, maxTokens: 20 });
    const streamed = await read(generation);
    const result = await generation.result;
    expect(result).toMatchObject({ text: streamed.text, tokens: streamed.tokens, reason: 'length' });
    expect(result.tokens).toHaveLength(20);
    expect(result.text).toBe(model.detokenize([8, ...result.tokens]).slice(1));
    expect(result.promptTokens).toBe(model.tokenize('the cat').length);
    expect(result.decodeTokensPerSecond).toBeGreaterThan(0);
    expect(result.prefillTokensPerSecond).toBeGreaterThan(0);
  });

  test('the result alone runs to the end', async () => {
    const alone = await model.generate('the cat', { ...greedy, maxTokens: 20 }).result;
    expect(alone.tokens).toEqual(
      (await read(model.generate('the cat', { ...greedy, maxTokens: 20 }))).tokens,
    );
  });

  test('the result may be taken before the loop', async () => {
    const generation = model.generate('the cat', { ...greedy, maxTokens: 5 });
    const { result } = generation;
    const { text } = await read(generation);
    expect((await result).text).toBe(text);
  });

  test('a generation can be read once', async () => {
    const generation = model.generate('the cat', { ...greedy, maxTokens: 2 });
    await read(generation);
    await expect(read(generation)).rejects.toMatchObject({ code: 'CONSUMED' });
  });

  test('nothing runs before reading, nor ahead of the reader', async () => {
    const before = backend.kernelRuns().embed ?? 0;
    const reader = model.generate('the cat', { ...greedy, maxTokens: 50 })[Symbol.asyncIterator]();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(backend.kernelRuns().embed ?? 0).toBe(before);
    await reader.next();
    const afterFirst = backend.kernelRuns().embed!;
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(backend.kernelRuns().embed).toBe(afterFirst);
    await reader.return?.();
  });

  test('leaving the loop frees the cache and settles the result', async () => {
    const generation = model.generate('the cat', greedy);
    let first = '';
    for await (const { text } of generation) {
      first = text;
      break;
    }
    expect(model.freeBlocks).toBe(model.stats().blocks);
    expect(await generation.result).toMatchObject({ reason: 'abort', text: first });
  });

  test('tokens are read while the chain that computes them runs', async () => {
    const { result, read } = readSlowly(model.generate('the cat', { ...greedy, maxTokens: 30 }));
    expect(await read(30)).toBeGreaterThan(2);
    expect((await result).tokens).toHaveLength(30);
  });

  test('leaving the loop in the middle of a chain frees the cache and keeps the tokens that were read', async () => {
    const want = await model.generate('the dog', { ...greedy, maxTokens: 30 }).result;
    for (const count of [2, 3, 7]) {
      const generation = model.generate('the dog', { ...greedy, maxTokens: 30 });
      const tokens: number[] = [];
      for await (const piece of generation) if (tokens.push(...piece.tokens) >= count) break;
      expect(model.freeBlocks).toBe(model.stats().blocks);
      expect(tokens).toEqual(want.tokens.slice(0, tokens.length));
      const result = await generation.result;
      expect(result.tokens).toEqual(tokens);
      expect(result.decodeMs).toBeGreaterThan(0);
      const next = await model.generate([...model.tokenize('the dog'), ...tokens], {
        ...greedy,
        maxTokens: 5,
      }).result;
      expect(next.tokens).toEqual(want.tokens.slice(tokens.length, tokens.length + 5));
      expect(next.cachedTokens).toBeGreaterThanOrEqual(Math.floor((next.promptTokens - 1) / 16) * 16); // what was read is known
    }
  });

  test('leaving before the first piece computes nothing', async () => {
    const generation = model.generate('the cat', greedy);
    await generation[Symbol.asyncIterator]().return?.();
    expect(await generation.result).toMatchObject({ reason: 'abort', tokens: [] });
  });

  test('an error rejects loop and result; handling one is enough', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    const generation = model.generate([1, 9999]);
    await expect(read(generation)).rejects.toMatchObject({ code: 'BAD_TOKEN' });
    await expect(generation.result).rejects.toMatchObject({ code: 'BAD_TOKEN' });
    await expect(model.generate([1, -1]).result).rejects.toMatchObject({ code: 'BAD_TOKEN' });
    await expect(read(model.generate([]))).rejects.toMatchObject({ code: 'EMPTY_PROMPT' });
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});

describe('how a generation ends', () => {
  test('a full context', async () => {
    const result = await model.generate('the cat', greedy).result;
    expect(result.reason).toBe('context');
    expect(result.promptTokens + result.tokens.length).toBe(model.context);
  });

  test('maxTokens 0 computes the prompt only', async () => {
    const result = await model.generate('the cat', { ...greedy, maxTokens: 0 }).result;
    expect(result).toMatchObject({ reason: 'length', tokens: [], text: '' });
  });

  test('an end token; the text excludes it', async () => {
    const result = await model.generate('the cat', { temperature: 0, logitBias: { 2: 1000 } }).result;
    expect(result).toMatchObject({ reason: 'eos', tokens: [], text: '' });
  });

  test('ignoreEos goes on', async () => {
    const options = { temperature: 0, logitBias: { 2: 1000 }, ignoreEos: true, maxTokens: 3 };
    const result = await model.generate('the cat', options).result;
    expect(result).toMatchObject({ reason: 'length', tokens: [2, 2, 2], text: '' });
    const shown = await model.generate('the cat', { ...options, special: true }).result;
    expect(shown.text).toBe('</s></s></s>');
  });

  test('a stop string; the text excludes it', async () => {
    const whole = await model.generate('the cat', { ...greedy, maxTokens: 30 }).result;
    const stop = whole.text.slice(7, 10);
    const generation = model.generate('the cat', { ...greedy, maxTokens: 30, stop: ['never seen', stop] });
    const { text } = await read(generation);
    expect(text).toBe(whole.text.slice(0, whole.text.indexOf(stop)));
    expect(await generation.result).toMatchObject({ reason: 'stop', stop, text });
  });

  test('the start of a possible stop string is flushed at the end', async () => {
    const whole = await model.generate('the cat', { ...greedy, maxTokens: 10 }).result;
    const stop = [`${whole.text.slice(-2)}#`];
    expect((await read(model.generate('the cat', { ...greedy, maxTokens: 10, stop }))).text).toBe(whole.text);
  });

  test('a signal aborted before the call', async () => {
    const generation = model.generate('the cat', { ...greedy, signal: AbortSignal.abort() });
    expect(await read(generation)).toMatchObject({ text: '', tokens: [] });
    expect((await generation.result).reason).toBe('abort');
  });

  test('an abort between the chunks of a prompt', async () => {
    using chunked = await loadModel(path, { backend, prefillChunk: 4 });
    const abort = new AbortController();
    const seen: unknown[] = [];
    const generation = chunked.generate(
      Array.from({ length: 60 }, () => 5),
      {
        ...greedy,
        signal: abort.signal,
        onProgress(progress) {
          seen.push(progress);
          if (progress.done === 12) abort.abort();
        },
      },
    );
    expect(await generation.result).toMatchObject({ reason: 'abort', tokens: [] });
    expect(seen).toEqual([4, 8, 12].map((done) => ({ phase: 'prefill', done, total: 60 })));
    expect(chunked.freeBlocks).toBe(chunked.stats().blocks);
  });

  test('onPrompt has the counts of the result, before any progress', async () => {
    const seen: unknown[] = [];
    const ask = () =>
      model.generate('the cat sat on the mat', {
        ...greedy,
        maxTokens: 3,
        onPrompt: (counts) => seen.push(counts),
        onProgress: ({ phase }) => seen.push(phase),
      }).result;
    const results = [await ask(), await ask()];
    const [first, second] = results.map(({ promptTokens, cachedTokens }) => ({ promptTokens, cachedTokens }));
    expect(second!.cachedTokens).toBe(16); // a block of its 18 tokens
    expect(seen).toEqual([first, 'prefill', second, 'prefill']);
  });

  test('what onPrompt throws ends its call alone', async () => {
    const onPrompt = () => {
      throw new Error('no');
    };
    await expect(model.generate('the cat', { ...greedy, maxTokens: 3, onPrompt }).result).rejects.toThrow(
      /^no$/,
    );
    expect((await model.generate('the cat', { ...greedy, maxTokens: 3 }).result).tokens).toHaveLength(3);
  });

  test('an abort at any token keeps the text and leaks nothing', async () => {
    const whole = await model.generate('the cat', { ...greedy, maxTokens: 40 }).result;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 39 }), fc.boolean(), async (at, sampled) => {
        const abort = new AbortController();
        const options = {
          ...greedy,
          maxTokens: 40,
          signal: abort.signal,
          ...(sampled && { logitBias: { 0: 0 } }),
        };
        const generation = model.generate('the cat', options);
        let text = '';
        let count = 0;
        for await (const piece of generation) {
          text += piece.text;
          count += piece.tokens.length;
          if (count >= at) abort.abort();
        }
        const result = await generation.result;
        expect(result.reason).toBe('abort');
        expect(result.text).toBe(text);
        expect(whole.tokens.slice(0, result.tokens.length)).toEqual(result.tokens);
        expect(model.freeBlocks).toBe(model.stats().blocks);
      }),
      { numRuns: 20 },
    );
  });
});

/** Counts the chains of all models. */
function countChains() {
  const { run } = Runner.prototype;
  const counter = {
    count: 0,
    [Symbol.dispose]() {
      Runner.prototype.run = run;
    },
  };
  Runner.prototype.run = function (batch, take, options) {
    if (options.chain) counter.count++;
    return run.call(this, batch, take as never, options) as never;
  };
  return counter;
}

describe('choosing tokens', () => {
  test('the same seed gives the same tokens, another seed others', async () => {
    const tokens = async (seed: number) =>
      (await model.generate('the', { temperature: 2, topK: 0, topP: 1, minP: 0, seed, maxTokens: 20 }).result)
        .tokens;
    expect(await tokens(7)).toEqual(await tokens(7));
    expect(await tokens(7)).not.toEqual(await tokens(8));
  });

  test('replayed, recorded, and by the logits: the same greedy tokens', async () => {
    using recorded = await loadModel(path, { backend, graph: false });
    const options = { ...greedy, maxTokens: 20 };
    const { tokens } = await model.generate('the cat', options).result;
    expect((await recorded.generate('the cat', options).result).tokens).toEqual(tokens);
    expect((await model.generate('the cat', { ...options, logitBias: { 0: 0 } }).result).tokens).toEqual(
      tokens,
    );
    const ids = [...model.tokenize('the cat'), ...tokens];
    const rows = await model.logits(ids.slice(0, -1));
    expect(rows.slice(-tokens.length).map((row) => row.indexOf(Math.max(...row)))).toEqual(tokens);
  });

  test('chained, replayed, recorded, and by the logits: the same drawn tokens', async () => {
    using recorded = await loadModel(path, { backend, graph: false });
    using shared = await loadModel(path, { backend, sequences: 2 });
    using chains = countChains();
    const options = { temperature: 1.5, topK: 0, minP: 0, seed: 11, ignoreEos: true, maxTokens: 40 };
    const draw = async (from: Model, more: GenerateOptions = {}) =>
      (await from.generate('the cat', { ...options, ...more }).result).tokens;
    const tokens = await draw(model);
    const { count } = chains;
    expect(count).toBeGreaterThan(0);
    expect(await draw(recorded)).toEqual(tokens);
    expect(await draw(model, { logitBias: { 0: 0 } })).toEqual(tokens);
    expect(chains.count).toBe(count);
    expect(await Promise.all([draw(shared), draw(shared)])).toEqual([tokens, tokens]);
    expect(await draw(model, { speculate: { kind: 'lookup' } })).toEqual(tokens);
  });

  test('penalties include the prompt', async () => {
    const plain = await model.generate('the cat', { ...greedy, maxTokens: 10 }).result;
    const penalised = await model.generate('the cat', { ...greedy, maxTokens: 10, presencePenalty: 100 })
      .result;
    expect(penalised.tokens).not.toEqual(plain.tokens);
    expect(new Set(penalised.tokens).size).toBe(10);
  });
});

describe('calls at the same time', () => {
  const prompts = ['the cat', 'a dog ran', 'cold', 'the end of it'];
  const one = (from: Model, prompt: string) => from.generate(prompt, { ...greedy, maxTokens: 12 }).result;

  test.each([
    ['one after the other, in a cache for one sequence', { sequences: 1 }],
    ['side by side', { sequences: 4 }],
    ['in blocks', { blockSize: 8 }],
    ['in blocks, recorded', { blockSize: 8, graph: false }],
  ] as const)('%s', async (_, options) => {
    using shared = await loadModel(path, { backend, ...options });
    const alone = [];
    for (const prompt of prompts) alone.push((await one(model, prompt)).tokens);
    const together = await Promise.all(prompts.map((prompt) => one(shared, prompt)));
    expect(together.map(({ tokens }) => tokens)).toEqual(alone);
    using pool = await loadModel(path, { backend, ...options });
    expect(shared.freeBlocks).toBe(pool.freeBlocks);
  });

  test('a waiting call can be aborted', async () => {
    using model = await loadModel(path, { backend, blockSize: 96 }); // the context
    const holder = model.generate('the cat', greedy)[Symbol.asyncIterator]();
    await holder.next();
    const abort = new AbortController();
    const waiting = model.generate('cold', { ...greedy, signal: abort.signal }).result;
    await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort();
    expect((await waiting).reason).toBe('abort');
    await holder.return?.();
    expect(model.freeBlocks).toBe(model.stats().blocks);
  });

  test('disposing ends running and waiting calls', async () => {
    const ending = await loadModel(path, { backend });
    const running = ending.generate('the cat', greedy)[Symbol.asyncIterator]();
    await running.next();
    const waiting = ending.generate('cold', greedy).result;
    await new Promise((resolve) => setTimeout(resolve, 5));
    const logits = ending.logits([1, 2, 3]);
    ending.dispose();
    const ended = { name: 'RuntimeError', code: 'DISPOSED', message: `the model ${path} has been disposed` };
    await expect(running.next()).rejects.toMatchObject(ended);
    await expect(logits).rejects.toMatchObject({ name: 'RuntimeError', code: 'DISPOSED' });
    await expect(waiting).rejects.toMatchObject({ code: 'DISPOSED' });
    await expect(ending.generate('late').result).rejects.toMatchObject({ code: 'DISPOSED' });
    ending.dispose();
  });
});
