import { referenceDriver } from '@quern/backend-reference';
import {
  type Backend,
  type CapturedGraph,
  contiguousKvCache,
  defineBackend,
  type KvCache,
} from '@quern/core';
import { type LanguageModel, loadLanguageModel, openModelFile } from '@quern/models';
import { Engine } from '../../src/engine/engine.js';
import { samplingParams } from '../../src/engine/sampling/params.js';
import type { Sequence } from '../../src/engine/sequence.js';
import { tiny, tinyVocabulary as vocabulary, writeTinyModel } from '../tiny-model.js';
import { greedy } from './requests.js';

let backend: Backend;
let model: LanguageModel;
/** Graphs captured in the present test, in order. */
let graphs: CapturedGraph[] = [];
const { layers, kvHeads, headDim, context } = tiny;
const shape = { layers, kvHeads, headDim, dtype: 'f32', context } as const;

beforeAll(async () => {
  backend = watched(defineBackend(slowDriver()));
  model = await loadLanguageModel(await openModelFile(await writeTinyModel()), backend);
});

/** As on a device, a step takes some turns of the event loop: the next one can start before it ends. */
function slowDriver() {
  const driver = referenceDriver();
  const embed: typeof driver.kernels.embed = async (...call) => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    return driver.kernels.embed(...call);
  };
  return { ...driver, kernels: { ...driver.kernels, embed } };
}

/** The backend; `graphs` gets what it captures. */
function watched(it: Backend): Backend {
  const graph = it.graph!;
  const capture: typeof graph.capture = async (...args) => {
    const captured = await graph.capture(...args);
    graphs.push(captured);
    return captured;
  };
  return Object.assign(it, { graph: { capture } });
}

beforeEach(() => {
  graphs = [];
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

const caches: Readonly<Record<string, (sequences: number) => KvCache>> = {
  contiguous: (sequences) => contiguousKvCache(backend, { ...shape, sequences }),
  paged: (sequences) =>
    backend.pagedKv!.createCache({
      ...shape,
      blockSize: 4,
      blocks: sequences * Math.ceil(context / 4),
    }),
};

const promptOf = (length: number, seed = 1): number[] =>
  Array.from({ length }, (_, i) => (seed * 31 + i * 7) % vocabulary);

/** The log-probabilities of all tokens: more than a device finds, so the host computes them from the logits. */
const allLogprobs = samplingParams({ temperature: 0 }, vocabulary, { logprobs: vocabulary });

/** The log-probabilities after `ids` in a sequence. */
async function logprobsAfter(engine: Engine, sequence: Sequence, ids: readonly number[]): Promise<number[]> {
  const { top } = (await engine.prefill(sequence, ids, allLogprobs, {})).logprobs!;
  expect(top).toHaveLength(vocabulary);
  return top.flatMap(({ token, logprob }) => [token, logprob]);
}

/** The log-probabilities after a prompt in a new sequence. */
async function logitsAfter(engine: Engine, ids: readonly number[]): Promise<number[]> {
  const sequence = engine.sequence({ reuse: false });
  try {
    return await logprobsAfter(engine, sequence, ids);
  } finally {
    engine.release(sequence);
  }
}

/** The same prompts in recorded steps, each in a cache of its own. */
async function recordedLogits(
  prompts: readonly (readonly number[])[],
  prefillChunk: number,
): Promise<number[][]> {
  const rows: number[][] = [];
  for (const ids of prompts) {
    using cache = caches.contiguous!(1);
    const engine = new Engine({ model, cache, capture: false, prefillChunk });
    rows.push(await logitsAfter(engine, ids));
  }
  return rows;
}

describe.each(Object.entries(caches))('prompts in a %s cache', (_name, cacheOf) => {
  test('are captured once per number of tokens, with the bits of recorded steps', async () => {
    using cache = cacheOf(3);
    using engine = owned(new Engine({ model, cache, capture: true, prefillChunk: 64 }));
    cache.sequence().append(6); // the prompts lie behind it
    const prompts = [promptOf(5), promptOf(5, 2), promptOf(9), promptOf(5, 3), promptOf(9, 4)];
    const found: number[][] = [];
    for (const ids of prompts) found.push(await logitsAfter(engine, ids));
    expect(graphs).toHaveLength(2);
    expect(found).toEqual(await recordedLogits(prompts, 64));
  });

  test('of several chunks replay the step of a chunk', async () => {
    using cache = cacheOf(1);
    using engine = owned(new Engine({ model, cache, capture: true, prefillChunk: 4 }));
    const prompts = [promptOf(15), promptOf(15, 2)];
    const found: number[][] = [];
    for (const ids of prompts) found.push(await logitsAfter(engine, ids));
    expect(graphs).toHaveLength(4); // 4 rows without logits and 3 rows; the limit of 4 rows keeps one of them
    expect(found).toEqual(await recordedLogits(prompts, 4));
  });

  test('continue a sequence: rows after the prompt stay invisible', async () => {
    using cache = cacheOf(2);
    using engine = owned(new Engine({ model, cache, capture: true, prefillChunk: 64 }));
    const sequence = engine.sequence({ reuse: false });
    await engine.prefill(sequence, promptOf(12), greedy, {});
    sequence.truncate(4); // stale keys and values follow
    const found: number[][] = [];
    for (const at of [4, 8])
      found.push(await logprobsAfter(engine, sequence, promptOf(12).slice(at, at + 4)));
    expect(graphs).toHaveLength(2); // 12 rows, 4 rows
    using alone = cacheOf(1);
    const recorded = new Engine({ model, cache: alone, capture: false, prefillChunk: 4 });
    const whole = recorded.sequence({ reuse: false });
    const expected: number[][] = [];
    for (const at of [0, 4, 8])
      expected.push(await logprobsAfter(recorded, whole, promptOf(12).slice(at, at + 4)));
    expect(found).toEqual(expected.slice(1));
  });
});

/** Disposes an engine at the end of a test. */
const owned = (engine: Engine): Engine & Disposable =>
  Object.assign(engine, { [Symbol.dispose]: () => engine.dispose() });

describe('captured prompts are bounded', () => {
  /** Which of the captured steps are kept, after one prompt of each length. */
  async function keptAfter(lengths: readonly number[], prefillChunk: number): Promise<boolean[]> {
    using cache = caches.contiguous!(1);
    using engine = owned(new Engine({ model, cache, capture: true, prefillChunk }));
    for (const length of lengths) await logitsAfter(engine, promptOf(length));
    return graphs.map((graph) => !graph.disposed);
  }

  test('by the rows of a chunk; the least recently used goes first', async () => {
    expect(await keptAfter([30, 20, 30, 15], 64)).toEqual([true, false, true]); // 30 + 20 + 15 > 64
  });

  test('by their number', async () => {
    const lengths = Array.from({ length: 17 }, (_, i) => i + 2);
    expect(await keptAfter(lengths, 512)).toEqual([false, ...new Array(16).fill(true)]);
  });

  test('and freed with the engine', async () => {
    await keptAfter([5, 6], 64);
    expect(graphs.map(({ disposed }) => disposed)).toEqual([true, true]);
  });
});

test('concurrent prompts share a step; each gets its own logits', async () => {
  using cache = caches.contiguous!(4);
  using engine = owned(new Engine({ model, cache, capture: true, prefillChunk: 64 }));
  for (const [uses, steps] of [0, 1, 1].entries()) {
    const prompts = [1, 2, 3, 4].map((seed) => promptOf(5 + seed, 4 * uses + seed));
    const found = await Promise.all(prompts.map((ids) => logitsAfter(engine, ids)));
    expect(graphs).toHaveLength(steps); // captured at the second use
    expect(found).toEqual(await recordedLogits(prompts, 64));
  }
});

test('beside a sequence that decodes, a step is captured at its second use', async () => {
  using cache = caches.contiguous!(2);
  using engine = owned(new Engine({ model, cache, capture: true, prefillChunk: 64 }));
  const decoding = engine.sequence({ reuse: false });
  const { token } = await engine.prefill(decoding, promptOf(5), greedy, {});
  const captured: number[] = [];
  const found: number[][] = [];
  const prompts = [promptOf(7), promptOf(7, 2), promptOf(7, 3)];
  for (const ids of prompts) {
    const next = engine.decode({ sequence: decoding, ids: [token], sampling: greedy, most: 1, ...noEnd });
    const before = graphs.length;
    const logits = logitsAfter(engine, ids);
    await next;
    found.push(await logits);
    captured.push(graphs.length - before);
  }
  expect(captured).toEqual([0, 1, 0]);
  expect(found).toEqual(await recordedLogits(prompts, 64));
});

const noEnd = { stops: new Int32Array(0), signal: undefined };

test('an aborted prompt leaves its step usable', async () => {
  using cache = caches.contiguous!(1);
  using engine = owned(new Engine({ model, cache, capture: true, prefillChunk: 64 }));
  const sequence = engine.sequence({ reuse: false });
  const signal = AbortSignal.abort();
  const aborted = engine.prefill(sequence, promptOf(7), greedy, { signal });
  await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
  expect(sequence.tokens.length).toBe(0);
  engine.release(sequence);
  expect([await logitsAfter(engine, promptOf(7))]).toEqual(await recordedLogits([promptOf(7)], 64));
});

test('chunks submitted before the earlier one has ended are recorded: they must reach the device in order', async () => {
  const parts = model.parts.map((part) =>
    Object.create(part, { backend: { value: twoInFlight(part.backend) } }),
  );
  const ahead = Object.create(model, { parts: { value: parts } }) as LanguageModel;
  using cache = caches.contiguous!(1);
  using engine = owned(new Engine({ model: ahead, cache, capture: true, prefillChunk: 4 }));
  const prompts = [promptOf(11), promptOf(4)];
  const found = [await logitsAfter(engine, prompts[0]!)];
  expect(graphs).toHaveLength(0);
  found.push(await logitsAfter(engine, prompts[1]!));
  expect(graphs).toHaveLength(1);
  expect(found).toEqual(await recordedLogits(prompts, 4));
});

/** The backend with a profile that asks for two plans in flight. */
const twoInFlight = (it: Backend): Backend =>
  Object.create(it, { profile: { value: { ...it.profile, plansInFlight: 2 } } }) as Backend;
