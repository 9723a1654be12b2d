// The engine with models that keep states of fixed size (LFM2, Qwen3.5): whatever the cache did before, the next tokens are those of
// a sequence computed alone, token by token.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend } from '@quern/backend-reference';
import { type Backend, KvCache } from '@quern/core';
import { type LanguageModel, loadLanguageModel, openModelFile } from '@quern/models';
import { Engine } from '../../src/engine/engine.js';
import { Runner } from '../../src/engine/runner/runner.js';
import type { Sequence } from '../../src/engine/sequence.js';
import { describeFile, loadEmbedder, loadModel } from '../../src/index.js';
import { sharedData } from '../shared-data.js';
import { greedy, idsOf } from './requests.js';

const models: Readonly<Record<string, () => Promise<Backend>>> = {
  lfm2: createBackend,
  qwen35: () => createCpu({ precision: 'exact' }),
};
const blockSize = 4;
const noStops = new Int32Array(0);
const prompt = Array.from({ length: 26 }, (_, i) => 3 + ((i * 37) % 250));

let backend: Backend;
let model: LanguageModel;

interface Sizes {
  readonly states?: number;
  readonly blocks?: number;
  readonly prefillChunk?: number;
}

function engineOf({ states = 12, blocks = 64, prefillChunk = 64 }: Sizes = {}, of = model) {
  const { layers, kvHeads, headDim, layerStates } = model.config;
  const options = { layers, kvHeads, headDim, layerStates, dtype: 'f32', context: 128, states } as const;
  const cache = KvCache.allocate(backend, options, blocks, blockSize);
  return {
    cache,
    engine: new Engine({ model: of, cache, capture: true, prefillChunk }),
    [Symbol.dispose]: () => cache.dispose(),
  };
}

async function decode(engine: Engine, sequence: Sequence, ids: readonly number[], most: number, drafts = 0) {
  const options = { most, stops: noStops, signal: undefined, sampling: greedy, drafts };
  return idsOf(await engine.decode({ sequence, ids, ...options }));
}

/** The prompt's next token, and `count - 1` after it; `most` tokens per call. */
async function generate(
  engine: Engine,
  sequence: Sequence,
  ids: readonly number[],
  count: number,
  most = 16,
) {
  const tokens = [(await engine.prefill(sequence, ids, greedy, {})).token];
  while (tokens.length < count)
    tokens.push(...(await decode(engine, sequence, [tokens.at(-1)!], Math.min(most, count - tokens.length))));
  return tokens;
}

/** The same, alone, computed token by token. */
async function alone(ids: readonly number[], count: number): Promise<number[]> {
  using it = engineOf({ prefillChunk: 1 });
  return await generate(it.engine, it.engine.sequence({ reuse: false }), ids, count, 1);
}

describe.each(Object.entries(models))('states of %s', (folder, create) => {
  const path = join(sharedData, 'llamacpp-arch', folder, 'model.gguf');
  if (!existsSync(path)) {
    test.skip(`../shared/data/llamacpp-arch/${folder} is absent`, () => {});
    return;
  }
  beforeAll(async () => {
    backend = await create();
    model = await loadLanguageModel(await openModelFile(path), backend);
  });
  afterAll(() => {
    model.dispose();
    backend.dispose();
  });

  test('inspect says what a cache allocates', async () => {
    using it = engineOf();
    const { perToken, perSequence } = (await describeFile(path)).model!.cacheBytes!;
    expect(perSequence).toBe(it.cache.stateBytes);
    expect(2 * perToken).toBe(it.cache.blockBytes / blockSize); // of f32 here
  });

  test.each([1, 5, 7, 16, 64])('prompts in chunks of %d, and chains', async (prefillChunk) => {
    using it = engineOf({ prefillChunk });
    expect(await generate(it.engine, it.engine.sequence(), prompt, 24)).toEqual(await alone(prompt, 24));
  });

  test('a prompt starts with the state of an earlier one', async () => {
    using it = engineOf();
    const { engine, cache } = it;
    const longer = [...prompt, 9, 8, 7, 6, 5, 4, 3];
    for (const [ids, cached] of [
      [prompt, 0],
      [prompt, 24],
      [longer, 24],
      [longer, 32],
      [[...prompt.slice(0, 20), 1, 2, 3], 0], // no state there
    ] as const) {
      const sequence = engine.sequence();
      expect(await generate(engine, sequence, ids, 8)).toEqual(await alone(ids, 8));
      expect(sequence.cachedTokens).toBe(cached);
      engine.release(sequence);
    }
    expect(cache.freeStates).toBe(12 - 4); // of 20, 24, 32 and 40 tokens
  });

  test('prefixes give up their states where they are short', async () => {
    using it = engineOf({ states: 3 });
    const { engine, cache } = it;
    for (let i = 0; i < 6; i++) {
      const sequence = engine.sequence();
      const ids = [...prompt.slice(i), ...prompt];
      expect(await generate(engine, sequence, ids, 4)).toEqual(await alone(ids, 4));
      engine.release(sequence);
    }
    expect(cache.freeStates).toBeGreaterThanOrEqual(0);
  });

  test('several at once, with few states and few blocks', async () => {
    using it = engineOf({ states: 3, blocks: 26, prefillChunk: 8 });
    const { engine, cache } = it;
    const prompts = [0, 3, 6, 9, 12].map((i) => prompt.slice(i));
    const found = await Promise.all(
      prompts.map(async (ids) => {
        const sequence = engine.sequence();
        const tokens = await generate(engine, sequence, ids, 12, 3);
        engine.release(sequence);
        return tokens;
      }),
    );
    for (const [i, ids] of prompts.entries()) expect(found[i]).toEqual(await alone(ids, 12));
    expect(engine.freeBlocks).toBe(26);
    expect(cache.freeStates).toBeGreaterThanOrEqual(0);
  });

  test('equal prompts at once: the later ones start with the state of the first', async () => {
    using it = engineOf();
    const { engine } = it;
    const want = await alone(prompt, 8);
    const sequences = [0, 1, 2].map(() => engine.sequence());
    const found = await Promise.all(sequences.map((sequence) => generate(engine, sequence, prompt, 8)));
    for (const tokens of found) expect(tokens).toEqual(want);
    expect(sequences.map(({ cachedTokens }) => cachedTokens)).toEqual([0, 24, 24]);
  });

  test('an offloaded cache is refused', async () => {
    await expect(loadModel(path, { backend: 'reference', cacheMemory: 2 ** 20 })).rejects.toThrow(
      'keep states, which are not offloaded yet: leave cacheMemory out',
    );
  });

  test('a model with states embeds no texts', async () => {
    await expect(loadEmbedder(path, { backend: 'reference' })).rejects.toThrow('keep states between tokens');
  });

  test('a row of a chain that ends before the others gives all blocks back, and goes on', async () => {
    const { now } = performance;
    performance.now = () => 0; // chains of full length
    try {
      using it = engineOf();
      const { engine, cache } = it;
      const [want, other] = [await alone(prompt, 16), prompt.slice(3)];
      const [first, second] = [engine.sequence(), engine.sequence()];
      const [a, b] = [
        await generate(engine, first, prompt, 2, 1),
        await generate(engine, second, other, 2, 1),
      ];
      const sampling = { signal: undefined, sampling: greedy, most: 12 };
      const [found] = await Promise.all([
        engine.decode({ sequence: first, ids: [a.at(-1)!], stops: Int32Array.of(want[6]!), ...sampling }),
        engine.decode({ sequence: second, ids: [b.at(-1)!], stops: noStops, ...sampling }),
      ]);
      a.push(...idsOf(found));
      while (a.length < 16) a.push(...(await decode(engine, first, [a.at(-1)!], 4)));
      expect(a.slice(0, 16)).toEqual(want);
      for (const sequence of [first, second]) engine.release(sequence);
      expect([engine.freeBlocks, cache.freeStates > 0]).toEqual([64, true]);
    } finally {
      performance.now = now;
    }
  });

  test('no chain on a device that computes steps ahead of the host', async () => {
    const { now } = performance;
    performance.now = () => 0;
    const { run } = Runner.prototype;
    let chains = 0;
    Runner.prototype.run = function (batch, take, options) {
      if (options.chain) chains++;
      return run.call(this, batch, take as never, options) as never;
    };
    const generated = async (on: LanguageModel) => {
      using it = engineOf({}, on);
      return await generate(it.engine, it.engine.sequence(), prompt, 20);
    };
    try {
      const want = await generated(model);
      expect(chains).toBeGreaterThan(0);
      chains = 0;
      const ahead = { value: { ...backend.profile, plansInFlight: 2 } };
      const parts = [
        Object.create(model.parts[0]!, { backend: { value: Object.create(backend, { profile: ahead }) } }),
      ];
      expect(await generated(Object.create(model, { parts: { value: parts } }))).toEqual(want);
      expect(chains).toBe(0);
    } finally {
      performance.now = now;
      Runner.prototype.run = run;
    }
  });

  test('after an abort in the middle of a prompt, the sequence goes on with the rest', async () => {
    using it = engineOf({ prefillChunk: 4 });
    const { engine } = it;
    const sequence = engine.sequence();
    const controller = new AbortController();
    const onProgress = ({ done }: { readonly done: number }) => done >= 8 && controller.abort();
    const aborted = engine.prefill(sequence, prompt, greedy, { signal: controller.signal, onProgress });
    await expect(aborted).rejects.toThrow(expect.objectContaining({ code: 'ABORTED' }));
    const kept = sequence.tokens.length;
    expect([kept >= 8 && kept < prompt.length, sequence.kv.length <= kept]).toEqual([true, true]);
    expect(await generate(engine, sequence, prompt.slice(kept), 8)).toEqual(await alone(prompt, 8));
    engine.release(sequence);
    expect(engine.freeBlocks).toBe(64);
  });

  test('as many sequences as states, all with one prefix', async () => {
    using it = engineOf({ states: 4 });
    const { engine } = it;
    const want = await alone(prompt, 6);
    const sequences = [0, 1, 2, 3].map(() => engine.sequence());
    for (const sequence of sequences)
      expect(await generate(engine, sequence, prompt, 3)).toEqual(want.slice(0, 3));
    for (const sequence of sequences)
      expect(await decode(engine, sequence, [want[2]!], 3)).toEqual(want.slice(3));
  });

  test('drafts are refused where idle prefixes have all states', async () => {
    using it = engineOf({ states: 4 });
    const { engine } = it;
    for (const i of [0, 1, 2, 3]) {
      const sequence = engine.sequence();
      await generate(engine, sequence, prompt.slice(i, i + 10), 1);
      engine.release(sequence);
    }
    const want = await alone(prompt, 6);
    const sequence = engine.sequence();
    const tokens = await generate(engine, sequence, prompt, 2);
    tokens.push(...(await decode(engine, sequence, [want[1]!, (want[2]! + 1) % 200, 5], 1, 2)));
    expect(sequence.kv.length).toBe(prompt.length + 1); // the state before the drafts
    while (tokens.length < 6) tokens.push(...(await decode(engine, sequence, [tokens.at(-1)!], 1)));
    expect(tokens).toEqual(want);
  });

  test('such a model is refused as a draft model', async () => {
    using target = await loadModel(path, { backend: 'reference' });
    using draft = await loadModel(path, { backend: 'reference' });
    const speculate = { kind: 'draft', model: draft } as const;
    const generate = async () => await target.generate('a', { speculate, maxTokens: 2 }).result;
    await expect(generate()).rejects.toThrow('cannot be a draft model yet');
  });

  test('drafts, right and refused', async () => {
    using it = engineOf();
    const { engine } = it;
    const want = await alone(prompt, 20);
    const sequence = engine.sequence();
    const tokens = [(await engine.prefill(sequence, prompt, greedy, {})).token];
    const wrong = (token: number) => (token + 1) % 200;
    const drafts = [
      [want[1]!, want[2]!, want[3]!],
      [want[5]!, wrong(want[6]!), 7],
      [wrong(want[7]!), 3],
      [want[8]!],
    ];
    for (const draft of drafts)
      tokens.push(...(await decode(engine, sequence, [tokens.at(-1)!, ...draft], 1, draft.length)));
    expect(tokens.length).toBeGreaterThan(8);
    while (tokens.length < 20) tokens.push(...(await decode(engine, sequence, [tokens.at(-1)!], 1)));
    expect(tokens).toEqual(want);
  });

  test('a sequence that is preempted', async () => {
    using it = engineOf({ blocks: 14 });
    const { engine } = it;
    const [first, second] = [engine.sequence({ priority: 1 }), engine.sequence()];
    const begun = await generate(engine, second, prompt, 4, 2);
    const goOn = async (): Promise<number[]> => {
      while (begun.length < 20) begun.push(...(await decode(engine, second, [begun.at(-1)!], 2)));
      return begun;
    };
    const ended = async (): Promise<number[]> => {
      const tokens = await generate(engine, first, prompt.slice(2), 20, 2);
      engine.release(first);
      return tokens;
    };
    const both = [goOn(), ended()];
    const [late, early] = await Promise.all(both);
    expect(late).toEqual(await alone(prompt, 20));
    expect(early).toEqual(await alone(prompt.slice(2), 20));
    expect(engine.stats.preemptions).toBeGreaterThan(0);
  });

  test('a sequence that is cut goes on as if it had never been longer', async () => {
    using it = engineOf();
    const { engine } = it;
    const sequence = engine.sequence();
    await generate(engine, sequence, prompt, 10);
    sequence.truncate(prompt.length);
    const next = await generate(engine, sequence, [11, 12, 13], 6);
    expect(next).toEqual(await alone([...prompt, 11, 12, 13], 6));
  });
});
