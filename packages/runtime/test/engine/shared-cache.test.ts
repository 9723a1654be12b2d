// Calls that share a cache: equal beginnings, preemption, priorities, the queue.
import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { type LanguageModel, loadLanguageModel, openModelFile } from '@quern/models';
import { Engine, type EngineOptions } from '../../src/engine/engine.js';
import { Runner } from '../../src/engine/runner/runner.js';
import type { Sequence } from '../../src/engine/sequence.js';
import { tiny, tinyVocabulary as vocabulary, writeTinyModel } from '../tiny-model.js';
import { countedRows } from './counted-rows.js';
import { greedy, idsOf } from './requests.js';

let backend: Backend;
let model: LanguageModel;
const { layers, kvHeads, headDim, context } = tiny;
const blockSize = 4;

beforeAll(async () => {
  backend = await createBackend();
  model = await loadLanguageModel(await openModelFile(await writeTinyModel()), backend);
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

/** An engine over a paged cache of `blocks` blocks. */
function engineOf(blocks: number, options: Partial<EngineOptions> = {}) {
  const shape = { layers, kvHeads, headDim, dtype: 'f32', context } as const;
  const cache = backend.pagedKv!.createCache({ ...shape, blockSize, blocks });
  const engine = new Engine({ model, cache, capture: true, prefillChunk: 16, ...options });
  const dispose = () => {
    engine.dispose();
    cache.dispose();
  };
  return { engine, [Symbol.dispose]: dispose };
}

const promptOf = (length: number, seed = 1): number[] =>
  Array.from({ length }, (_, i) => 1 + ((i * 7 + seed * 13 + i * i * seed) % (vocabulary - 1)));

/** A whole call: the tokens after a prompt. */
async function generate(engine: Engine, ids: readonly number[], count: number, sequence = engine.sequence()) {
  const tokens = [(await engine.prefill(sequence, ids, greedy, {})).token];
  while (tokens.length < count) tokens.push(...(await next(engine, sequence, tokens)));
  engine.release(sequence);
  return { tokens, cached: sequence.cachedTokens };
}

const next = async (engine: Engine, sequence: Sequence, tokens: readonly number[]) => {
  const rest = { sampling: greedy, most: 1, stops: new Int32Array(0), signal: undefined };
  return idsOf(await engine.decode({ sequence, ids: tokens.slice(-1), ...rest }));
};

describe('equal beginnings', () => {
  test('are not computed again, by whole blocks; the tokens are the same', async () => {
    using it = engineOf(40);
    const first = await generate(it.engine, promptOf(18), 6);
    using counted = countedRows();
    const again = await generate(it.engine, promptOf(18), 6);
    expect(again).toEqual({ tokens: first.tokens, cached: 16 });
    expect(counted.rows).toBe(2 + 5);
    const other = [...promptOf(10), ...promptOf(8, 5)];
    expect((await generate(it.engine, other, 2)).cached).toBe(8);
  });

  test('generated tokens are known too', async () => {
    using it = engineOf(40);
    const ids = promptOf(9);
    const first = await generate(it.engine, ids, 8);
    const turn = await generate(it.engine, [...ids, ...first.tokens, 5], 2);
    expect(turn.cached).toBe(16); // 9 + 7 computed tokens
    using fresh = engineOf(40);
    expect(turn.tokens).toEqual((await generate(fresh.engine, [...ids, ...first.tokens, 5], 2)).tokens);
  });

  test('of requests that arrive together are computed once', async () => {
    using it = engineOf(200);
    using counted = countedRows();
    const shared = promptOf(40);
    const prompts = Array.from({ length: 8 }, (_, i) => [...shared, ...promptOf(3, i + 2)]);
    const found = await Promise.all(prompts.map((ids) => generate(it.engine, ids, 1)));
    expect(counted.rows).toBe(40 + 8 * 3);
    expect(found.map(({ cached }) => cached)).toEqual([0, 40, 40, 40, 40, 40, 40, 40]);
    for (const [i, ids] of prompts.entries()) {
      using fresh = engineOf(40);
      expect(found[i]!.tokens).toEqual((await generate(fresh.engine, ids, 1)).tokens);
    }
  });

  test('of an aborted request are computed by the next one', async () => {
    using it = engineOf(200);
    const abort = new AbortController();
    const shared = promptOf(40);
    const onProgress = () => abort.abort();
    const first = it.engine.sequence();
    const aborted = it.engine.prefill(first, shared, greedy, { signal: abort.signal, onProgress });
    const others = [1, 2].map((i) => generate(it.engine, [...shared, i], 1));
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    it.engine.release(first);
    const found = await Promise.all(others);
    expect(found[0]!.cached).toBe(16); // one chunk of the aborted prompt
    expect(found[1]!.cached).toBe(40);
  });

  test('are evicted least recently used first, the ends of texts before their beginnings', async () => {
    using it = engineOf(12);
    const [a, b] = [promptOf(17), promptOf(17, 2)];
    await generate(it.engine, a, 1); // 4 whole blocks each
    await generate(it.engine, b, 1);
    await generate(it.engine, a, 1); // a is now the last used
    await generate(it.engine, promptOf(29, 3), 1); // takes 8 blocks: 4 are free, the others come from b
    expect((await generate(it.engine, a, 1)).cached).toBe(16);
    expect((await generate(it.engine, b, 1)).cached).toBe(0);
  });

  test('the counts of hits', async () => {
    using it = engineOf(40);
    await generate(it.engine, promptOf(18), 3);
    await generate(it.engine, promptOf(18), 3);
    expect(it.engine.stats).toMatchObject({
      prefixQueries: 36,
      prefixHits: 16,
      promptTokens: 36,
      generatedTokens: 6,
      running: 0,
      waiting: 0,
    });
    expect(it.engine.stats.freeBlocks).toBe(40);
    expect(it.engine.stats.cachedBlocks).toBe(5); // 18 + 2 computed tokens
  });
});

describe('a cache smaller than its calls', () => {
  const calls = Array.from({ length: 8 }, (_, i) => ({ ids: promptOf(6 + i, i + 1), count: 24 + i }));
  let alone: number[][];
  beforeAll(async () => {
    alone = [];
    for (const { ids, count } of calls) {
      using it = engineOf(40);
      alone.push((await generate(it.engine, ids, count)).tokens);
    }
  });

  test.each([24, 14])('all calls end right with %d blocks of about 76', async (blocks) => {
    using it = engineOf(blocks, { model, prefillChunk: 16 });
    const found = await Promise.all(calls.map(({ ids, count }) => generate(it.engine, ids, count)));
    expect(found.map(({ tokens }) => tokens)).toEqual(alone);
    expect(it.engine.stats.preemptions).toBeGreaterThan(0);
    expect(it.engine.freeBlocks).toBe(blocks);
  });

  test('speculated rows of a preempted call', async () => {
    using it = engineOf(14);
    const sequence = it.engine.sequence();
    const ids = promptOf(6);
    const tokens = [(await it.engine.prefill(sequence, ids, greedy, {})).token];
    const others = calls.slice(2, 5).map((call) => generate(it.engine, call.ids, call.count));
    while (tokens.length < 20) {
      const rows = [tokens.at(-1)!, 1, 2]; // a preemption drops the drafts
      const more = { sampling: greedy, most: 1, stops: new Int32Array(0), signal: undefined };
      tokens.push(...idsOf(await it.engine.decode({ sequence, ids: rows, drafts: 2, ...more })));
    }
    it.engine.release(sequence);
    using fresh = engineOf(40);
    expect(tokens.slice(0, 20)).toEqual((await generate(fresh.engine, ids, 20)).tokens);
    expect((await Promise.all(others)).map(({ tokens: found }) => found)).toEqual(alone.slice(2, 5));
  });

  test('a call of a higher priority takes the blocks of a lower one, and ends first', async () => {
    using it = engineOf(10);
    const order: string[] = [];
    const call = async (name: string, priority: number) => {
      const { tokens } = await generate(
        it.engine,
        promptOf(20),
        12,
        it.engine.sequence({ priority, reuse: false }),
      );
      order.push(name);
      return tokens;
    };
    const low = call('low', 0);
    await new Promise((resolve) => setImmediate(resolve));
    const high = call('high', 1);
    expect(await low).toEqual(await high);
    expect(order).toEqual(['high', 'low']);
    expect(it.engine.stats.preemptions).toBeGreaterThan(0);
  });

  test('a released call leaves the queue', async () => {
    using it = engineOf(8);
    const holder = it.engine.sequence();
    await it.engine.prefill(holder, promptOf(28), greedy, {});
    const waiting = it.engine.sequence();
    const never = it.engine.prefill(waiting, promptOf(20, 3), greedy, {});
    never.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 5));
    it.engine.release(waiting);
    it.engine.release(holder);
    await expect(never).rejects.toMatchObject({ code: 'ABORTED' });
    expect(it.engine.freeBlocks).toBe(8);
  });

  test('more waiting calls than `maxQueue` are refused at once', async () => {
    using it = engineOf(8, { maxQueue: 1 });
    const holder = it.engine.sequence();
    await it.engine.prefill(holder, promptOf(28), greedy, {});
    const waiting = generate(it.engine, promptOf(20, 3), 1);
    await expect(generate(it.engine, promptOf(20, 4), 1)).rejects.toMatchObject({
      code: 'BUSY',
      message: expect.stringMatching(
        /^1 call waits for room in the cache already, as many as `maxQueue` \(--max-queue\) allows/,
      ),
    });
    it.engine.release(holder);
    expect((await waiting).tokens).toHaveLength(1);
  });

  test('a call that waits already is not refused when a preempted one comes before it', async () => {
    using it = engineOf(8, { maxQueue: 1 });
    const low = it.engine.sequence({ priority: -1 });
    const { token } = await it.engine.prefill(low, promptOf(28), greedy, {});
    const waiting = generate(it.engine, promptOf(20, 3), 1, it.engine.sequence({ priority: -2 }));
    const high = it.engine.sequence();
    await it.engine.prefill(high, promptOf(28, 5), greedy, {}); // takes the blocks of `low`
    const request = { sequence: low, ids: [token], sampling: greedy, most: 1, stops: new Int32Array(0) };
    const resumed = it.engine.decode({ ...request, signal: undefined }); // waits before `waiting`
    await new Promise((resolve) => setTimeout(resolve, 5));
    it.engine.release(high);
    expect(await resumed).toHaveLength(1);
    it.engine.release(low);
    expect((await waiting).tokens).toHaveLength(1);
  });

  test('a burst that has room is not refused, whatever `maxQueue` is', async () => {
    using it = engineOf(60, { maxQueue: 0 });
    const found = await Promise.all([1, 2, 3, 4].map((seed) => generate(it.engine, promptOf(9, seed), 3)));
    expect(found.map(({ tokens }) => tokens.length)).toEqual([3, 3, 3, 3]);
  });
});

test('deterministic: steps of prompts have one prompt, and nothing is reused', async () => {
  using it = engineOf(60, { deterministic: true });
  const { run } = Runner.prototype;
  Runner.prototype.run = function (batch, take, options) {
    const isMixed = batch.length > 1 && batch.some(({ tokens, outputs }) => tokens.length > outputs);
    if (isMixed) throw new Error('a mixed step');
    return run.call(this, batch, take as never, options) as never;
  };
  try {
    const prompts = [promptOf(20), promptOf(20), promptOf(9, 2)];
    const found = await Promise.all(prompts.map((ids) => generate(it.engine, ids, 8)));
    expect(found.map(({ cached }) => cached)).toEqual([0, 0, 0]);
    expect(found[0]!.tokens).toEqual(found[1]!.tokens);
  } finally {
    Runner.prototype.run = run;
  }
});
