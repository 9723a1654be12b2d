import { createBackend } from '@quern/backend-reference';
import { type Backend, contiguousKvCache, type KvCache, type Tensor } from '@quern/core';
import { type LanguageModel, loadLanguageModel, openModelFile } from '@quern/models';
import { longestChain } from '../../src/engine/batch.js';
import { Engine } from '../../src/engine/engine.js';
import { Runner } from '../../src/engine/runner/runner.js';
import type { SamplingOptions } from '../../src/engine/sampling/options.js';
import { type SampledToken, type SamplingParams, samplingParams } from '../../src/engine/sampling/params.js';
import type { Sequence } from '../../src/engine/sequence.js';
import type { Constraint } from '../../src/structured/constraint.js';
import { tiny, writeTinyModel } from '../tiny-model.js';
import { greedy, idsOf } from './requests.js';

let backend: Backend;
let model: LanguageModel;
const { layers, kvHeads, headDim, context } = tiny;
const shape = { layers, kvHeads, headDim, dtype: 'f32', context } as const;
const prompt = [1, 9, 17, 25, 33];

beforeAll(async () => {
  backend = await createBackend();
  model = await loadLanguageModel(await openModelFile(await writeTinyModel()), backend);
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

const caches: Readonly<Record<string, (sequences?: number) => KvCache>> = {
  contiguous: (sequences = 2) => contiguousKvCache(backend, { ...shape, sequences }),
  paged: (sequences = 2) =>
    backend.pagedKv!.createCache({ ...shape, blockSize: 4, blocks: sequences * Math.ceil(context / 4) }),
};

/** An engine, a sequence with the prompt, and the next token. */
async function prefilled(cache: KvCache, capture = true) {
  const engine = new Engine({ model, cache, capture, prefillChunk: 64 });
  const sequence = engine.sequence({ reuse: false });
  const { token: first } = await engine.prefill(sequence, prompt, greedy, {});
  return { engine, sequence, first, [Symbol.dispose]: () => cache.dispose() };
}

/** A stopped clock: steps take no time, so chains have full length. */
function stoppedClock() {
  const { now } = performance;
  performance.now = () => 0;
  const dispose = () => {
    performance.now = now;
  };
  return { [Symbol.dispose]: dispose };
}

interface Chain {
  readonly sampling?: SamplingParams;
  readonly stops?: Int32Array;
  readonly signal?: AbortSignal;
}

/** Up to `most` tokens after `token`. */
async function chain(engine: Engine, sequence: Sequence, token: number, most: number, options: Chain = {}) {
  const rest = { sampling: greedy, stops: new Int32Array(0), signal: undefined, ...options };
  return idsOf(await engine.decode({ sequence, ids: [token], most, ...rest }));
}

/** Tokens after `token`, one step each. */
async function oneByOne(
  engine: Engine,
  sequence: Sequence,
  token: number,
  count: number,
  sampling: SamplingParams = greedy,
): Promise<number[]> {
  const tokens = [token];
  for (let i = 0; i < count; i++)
    tokens.push(...(await chain(engine, sequence, tokens.at(-1)!, 1, { sampling })));
  return tokens.slice(1);
}

/** The tokens after `ids`, whose first one is no draft. */
async function check(
  engine: Engine,
  sequence: Sequence,
  ids: readonly number[],
  sampling: SamplingParams = greedy,
): Promise<number[]> {
  const rest = { most: 1, stops: new Int32Array(0), signal: undefined };
  return idsOf(await engine.decode({ sequence, ids, drafts: ids.length - 1, sampling, ...rest }));
}

/** Records the modes of all steps that recur. */
function watchedModes() {
  const { run } = Runner.prototype;
  const kinds = new Set<string>();
  Runner.prototype.run = function (batch, take, options) {
    if (batch.every(({ tokens, outputs }) => tokens.length === outputs)) kinds.add(options.mode.kind);
    return run.call(this, batch, take as never, options) as never;
  };
  const dispose = () => {
    Runner.prototype.run = run;
  };
  return { kinds, [Symbol.dispose]: dispose };
}

/** Options for random draws with a fixed seed. */
const drawing = () =>
  samplingParams({ temperature: 1.5, topK: 0, topP: 0.95, minP: 0, seed: 3 }, model.config.vocabulary);

/** The sampler's draws from the logits, step by step. */
async function expectedDraws(count: number): Promise<number[]> {
  using alone = await prefilled(caches.contiguous!(), false);
  return await oneByOne(alone.engine, alone.sequence, alone.first, count, drawing());
}

async function expected(count: number): Promise<number[]> {
  using alone = await prefilled(caches.contiguous!());
  return await oneByOne(alone.engine, alone.sequence, alone.first, count);
}

describe.each(Object.entries(caches))('in a %s cache', (_name, cacheOf) => {
  test('chains equal single steps', async () => {
    using _clock = stoppedClock();
    using it = await prefilled(cacheOf());
    const { engine, sequence, first } = it;
    const tokens: number[] = [];
    const lengths: number[] = [];
    while (tokens.length < 40) {
      const found = await chain(engine, sequence, tokens.at(-1) ?? first, 40 - tokens.length);
      lengths.push(found.length);
      tokens.push(...found);
      expect(sequence.tokens.length).toBe(prompt.length + tokens.length);
    }
    expect(tokens).toEqual(await expected(40));
    expect(lengths.slice(1)).toEqual([longestChain, longestChain, 40 - 1 - 2 * longestChain]); // after one timed step
  });

  test('a stop ends a chain; the sequence continues from there', async () => {
    using it = await prefilled(cacheOf());
    const { engine, sequence, first } = it;
    const want = await expected(12);
    const stop = want[2]!;
    const found: number[] = [];
    while (!found.includes(stop))
      found.push(
        ...(await chain(engine, sequence, found.at(-1) ?? first, 9, { stops: Int32Array.of(stop) })),
      );
    expect(found).toEqual(want.slice(0, want.indexOf(stop) + 1));
    expect(sequence.tokens.length).toBe(prompt.length + found.length);
    const rest = await oneByOne(engine, sequence, found.at(-1)!, 12 - found.length);
    expect([...found, ...rest]).toEqual(want);
  });

  test('chains of any length draw the sampler’s tokens', async () => {
    using it = await prefilled(cacheOf());
    const { engine, sequence, first } = it;
    const sampling = drawing();
    const tokens: number[] = [];
    for (let count = 1; tokens.length < 40; count = (count % 7) + 1)
      tokens.push(...(await chain(engine, sequence, tokens.at(-1) ?? first, count, { sampling })));
    expect(tokens).toEqual(await expectedDraws(tokens.length));
    expect(new Set(tokens).size).toBeGreaterThan(10);
    expect(sequence.tokens.length).toBe(prompt.length + tokens.length);
  });

  test('chains and single steps share one random stream, with and without stops', async () => {
    using it = await prefilled(cacheOf());
    const { engine, sequence, first } = it;
    const sampling = drawing();
    const want = await expectedDraws(20);
    const tokens = [...(await oneByOne(engine, sequence, first, 2, sampling))];
    while (tokens.length < 20) {
      const count = Math.min(8, 20 - tokens.length);
      const options = { sampling, stops: Int32Array.of(want[5]!) };
      tokens.push(...(await chain(engine, sequence, tokens.at(-1)!, count, options)));
      if (tokens.length < 20) tokens.push(...(await oneByOne(engine, sequence, tokens.at(-1)!, 1, sampling)));
    }
    expect(tokens).toEqual(want);
  });

  test.each([true, false])('drafts: the tokens up to the first wrong one (graph: %s)', async (graph) => {
    using it = await prefilled(cacheOf(), graph);
    const { engine, sequence, first } = it;
    const want = await expected(6);
    const wrong = (want[2]! + 1) % model.config.vocabulary;
    expect(await check(engine, sequence, [first, want[0]!, want[1]!, wrong, 7])).toEqual(want.slice(0, 3));
    expect(sequence.tokens).toEqual([...prompt, first, ...want.slice(0, 2)]);
    expect(sequence.kv.length).toBe(prompt.length + 3);
    expect(await check(engine, sequence, want.slice(2, 5), { ...greedy, distributions: true })).toEqual(
      want.slice(3, 6),
    );
  });

  test.each([true, false])('drafts beside calls that decode, and a prompt (graph: %s)', async (graph) => {
    using it = await prefilled(cacheOf(5), graph);
    const { engine, sequence, first } = it;
    const want = await expected(6);
    const others = await Promise.all(
      [greedy, drawing(), drawing()].map(async (choice) => {
        const sequence = engine.sequence({ reuse: false });
        return { sequence, choice, first: (await engine.prefill(sequence, prompt, choice, {})).token };
      }),
    );
    const draft = [first, ...want.slice(0, 3), (want[3]! + 1) % model.config.vocabulary];
    const late = engine.sequence({ reuse: false });
    const drawsDraft = await oneByOne(engine, others[2]!.sequence, others[2]!.first, 4, others[2]!.choice);
    const [checked, likeliest, drawn, { token: prefilledLate }] = await Promise.all([
      check(engine, sequence, draft),
      oneByOne(engine, others[0]!.sequence, others[0]!.first, 1),
      check(engine, others[1]!.sequence, [others[1]!.first, ...drawsDraft.slice(0, 3)], others[1]!.choice),
      engine.prefill(late, prompt, greedy, {}),
    ]);
    expect(checked).toEqual(want.slice(0, 4));
    expect(likeliest).toEqual(want.slice(0, 1));
    expect(drawn).toEqual(drawsDraft);
    expect(prefilledLate).toBe(first);
    expect(await oneByOne(engine, sequence, want[3]!, 2)).toEqual(want.slice(4, 6));
  });
});

test('an abort or an error of a constraint leaves the sequence unchanged', async () => {
  using it = await prefilled(caches.paged!());
  const { engine, sequence, first } = it;
  const aborted = AbortSignal.abort();
  await expect(chain(engine, sequence, first, 8, { signal: aborted })).rejects.toMatchObject({
    code: 'ABORTED',
  });
  expect(sequence.tokens.length).toBe(prompt.length);
  const constraint: Partial<Constraint> = {
    masksInTurns: () => undefined,
    accept() {
      throw new Error('taken');
    },
  };
  const sampling = { ...greedy, constraint: constraint as Constraint };
  await expect(check(engine, sequence, [first, 3], sampling)).rejects.toThrow('taken');
  expect(sequence.tokens.length).toBe(prompt.length);
  expect(await oneByOne(engine, sequence, first, 6)).toEqual(await expected(6));
});

test('without a graph, a chain is a single step', async () => {
  using it = await prefilled(caches.contiguous!(), false);
  const { engine, sequence, first } = it;
  expect(await chain(engine, sequence, first, 8)).toEqual(await expected(1));
});

test('two sequences in turn', async () => {
  const cache = caches.contiguous!();
  using it = await prefilled(cache);
  const { engine, first } = it;
  const other = engine.sequence({ reuse: false });
  const { token: otherFirst } = await engine.prefill(other, [1, 40, 3], greedy, {});
  const eight = async (sequence: Sequence, token: number) => {
    const tokens = [token];
    while (tokens.length < 9)
      tokens.push(...(await chain(engine, sequence, tokens.at(-1)!, 9 - tokens.length)));
    return tokens.slice(1);
  };
  const [a, b] = await Promise.all([eight(it.sequence, first), eight(other, otherFirst)]);
  expect(a).toEqual(await expected(8));
  other.truncate(3);
  expect(b).toEqual(await oneByOne(engine, other, otherFirst, 8));
});

/** Records the rows of every chain. */
function watchedChains() {
  const { run } = Runner.prototype;
  const rows: number[] = [];
  Runner.prototype.run = function (batch, take, options) {
    if (options.chain) rows.push(batch.length);
    return run.call(this, batch, take as never, options) as never;
  };
  const dispose = () => {
    Runner.prototype.run = run;
  };
  return { rows, [Symbol.dispose]: dispose };
}

test.each([
  ['contiguous', () => contiguousKvCache(backend, { ...shape, sequences: 3 })],
  [
    'paged',
    () => backend.pagedKv!.createCache({ ...shape, blockSize: 4, blocks: 3 * Math.ceil(context / 4) }),
  ],
])('chains of several rows, greedy and drawn, in a %s cache: equal to single rows', async (_, cacheOf) => {
  using _clock = stoppedClock();
  using chains = watchedChains();
  const cache = cacheOf();
  using it = await prefilled(cache);
  const { engine } = it;
  const prompts = [prompt, [1, 40, 3], [1, 9, 17, 25, 33, 2, 8]];
  /** Tokens after each prompt. A stop of one row also cuts the chains of the others. */
  const texts = async (together: boolean) => {
    const sequences = prompts.map(() => engine.sequence({ reuse: false }));
    const firsts = await inTurn(
      prompts.map((ids, i) => async () => (await engine.prefill(sequences[i]!, ids, greedy, {})).token),
    );
    const calls = sequences.map((sequence, i) => async () => {
      const sampling = i === 1 ? drawing() : greedy;
      const tokens = [firsts[i]!];
      while (tokens.length < 20 + 5 * i) {
        const options = { sampling, stops: Int32Array.of(tokens.at(-3) ?? 0) };
        const most = 20 + 5 * i - tokens.length;
        tokens.push(...(await chain(engine, sequence, tokens.at(-1)!, most, options)));
        expect(sequence.tokens.length).toBe(prompts[i]!.length + tokens.length - 1);
      }
      return tokens;
    });
    const found = together ? await Promise.all(calls.map((call) => call())) : await inTurn(calls);
    for (const sequence of sequences) engine.release(sequence);
    return found;
  };
  engine.release(it.sequence);
  const alone = await texts(false);
  expect(Math.max(...chains.rows)).toBe(1);
  expect(await texts(true)).toEqual(alone);
  expect(Math.max(...chains.rows)).toBe(3);
});

async function inTurn<T>(calls: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  for (const call of calls) results.push(await call());
  return results;
}

test('greedy, drawn and penalised rows in one step', async () => {
  const cache = contiguousKvCache(backend, { ...shape, sequences: 4 });
  using it = await prefilled(cache);
  const { engine, first } = it;
  const penalised = () =>
    samplingParams({ temperature: 1.5, presencePenalty: 1, seed: 4 }, model.config.vocabulary);
  const rows = async (choices: readonly SamplingParams[]) => {
    const sequences = choices.map(() => engine.sequence({ reuse: false }));
    for (const sequence of sequences) await engine.prefill(sequence, prompt, greedy, {});
    const found = await Promise.all(
      choices.map((choice, i) => oneByOne(engine, sequences[i]!, first, 6, choice)),
    );
    for (const sequence of sequences) engine.release(sequence);
    return found;
  };
  const [a, b, c] = await rows([greedy, drawing(), penalised()]);
  expect([a, b]).toEqual([await expected(6), await expectedDraws(6)]);
  expect(await rows([drawing(), greedy])).toEqual([b, a]);
  expect(await rows([penalised()])).toEqual([c]);
});

test('penalties and biases beside other rows: the device chooses, as JavaScript would', async () => {
  const cache = contiguousKvCache(backend, { ...shape, sequences: 5 });
  using it = await prefilled(cache);
  using host = await prefilled(contiguousKvCache(backend, { ...shape, sequences: 5 }), false);
  const { first } = it;
  const choose = (options: SamplingOptions): SamplingParams => {
    const params = samplingParams(options, model.config.vocabulary);
    for (const id of prompt) params.recent?.accept(id);
    return params;
  };
  const options: readonly SamplingOptions[] = [
    { temperature: 0, frequencyPenalty: 2 },
    { temperature: 1.5, repetitionPenalty: 1.3, presencePenalty: 1, penaltyWindow: 3, seed: 4 },
    { temperature: 0, logitBias: { 5: 2, 7: Number.NEGATIVE_INFINITY, 9: 1 } },
    { temperature: 1.2, seed: 8, logitBias: { 5: 1 }, frequencyPenalty: 0.5, penaltyWindow: -1 },
  ];
  const run = async ({ engine }: typeof it, choices: readonly SamplingParams[]) => {
    const leases = choices.map(() => engine.sequence({ reuse: false }));
    for (const sequence of leases) await engine.prefill(sequence, prompt, greedy, {});
    const found = await Promise.all(
      choices.map((choice, i) => oneByOne(engine, leases[i]!, first, 8, choice)),
    );
    for (const sequence of leases) engine.release(sequence);
    return found;
  };
  const wanted = await run(host, options.map(choose));
  using modes = watchedModes();
  expect(await run(it, options.map(choose))).toEqual(wanted);
  const alone = [];
  for (const each of options) alone.push(...(await run(it, [choose(each)])));
  expect(alone).toEqual(wanted);
  expect(modes.kinds).toEqual(new Set(['drawn']));
});

test('log-probabilities beside other rows: the device finds them, as JavaScript would', async () => {
  const cache = contiguousKvCache(backend, { ...shape, sequences: 4 });
  using it = await prefilled(cache);
  using host = await prefilled(contiguousKvCache(backend, { ...shape, sequences: 4 }), false);
  const { first } = it;
  const options: readonly SamplingOptions[] = [
    { temperature: 0 },
    { temperature: 1.4, seed: 5 },
    { temperature: 1.2, seed: 6, frequencyPenalty: 2, logitBias: { 5: 2 } },
  ];
  const run = async ({ engine }: typeof it) => {
    const { vocabulary } = model.config;
    const choices = options.map((each, i) => samplingParams(each, vocabulary, { logprobs: 3 * i }));
    const leases = choices.map(() => engine.sequence({ reuse: false }));
    for (const sequence of leases) await engine.prefill(sequence, prompt, greedy, {});
    const texts = choices.map(async (sampling, i) => {
      const found: SampledToken[] = [];
      while (found.length < 6) {
        const ids = [found.at(-1)?.token ?? first];
        const rest = { most: 1, stops: new Int32Array(0), signal: undefined };
        found.push(...(await engine.decode({ sequence: leases[i]!, ids, sampling, ...rest })));
      }
      return found.map(({ logprobs }) => logprobs!);
    });
    const all = await Promise.all(texts);
    for (const sequence of leases) engine.release(sequence);
    return all;
  };
  const inJavaScript = await run(host);
  using modes = watchedModes();
  const onDevice = await run(it);
  expect(modes.kinds).toEqual(new Set(['drawn']));
  const tokensOf = (logprobs: typeof onDevice) =>
    logprobs.map((row) => row.map(({ token, top }) => [token, ...top.map((each) => each.token)]));
  const valuesOf = (logprobs: typeof onDevice) =>
    logprobs.flat().flatMap(({ logprob, top }) => [logprob, ...top.map((each) => each.logprob)]);
  expect(tokensOf(onDevice)).toEqual(tokensOf(inJavaScript));
  expect(onDevice.map((row) => row[0]!.top.length)).toEqual([0, 3, 6]);
  for (const [i, value] of valuesOf(onDevice).entries())
    expect(value).toBeCloseTo(valuesOf(inJavaScript)[i]!, 4);
});

test('logits without a possible token: an error; the sequence is unchanged', async () => {
  const broken = Object.create(model, {
    logits: { value: (x: Tensor) => backend.scale(model.logits(x), Number.NaN) },
  }) as LanguageModel;
  using cache = caches.contiguous!();
  const engine = new Engine({ model: broken, cache, capture: true, prefillChunk: 64 });
  const sequence = engine.sequence({ reuse: false });
  const sampling = drawing();
  const badLogits = { code: 'BAD_LOGITS' };
  await expect(chain(engine, sequence, 1, 4, { sampling })).rejects.toMatchObject(badLogits);
  await expect(chain(engine, sequence, 1, 1, { sampling })).rejects.toMatchObject(badLogits);
  expect(sequence.tokens.length).toBe(0);
});

describe('a model with two parts', () => {
  let other: Backend;
  beforeAll(async () => {
    other = await createBackend();
  });
  afterAll(() => other.dispose());

  /** A model with its last layer and logits on another backend. */
  async function split(capture: boolean, last: Backend) {
    const places = [
      { backend, from: 0, to: layers - 1 },
      { backend: last, from: layers - 1, to: layers },
    ];
    const parts = await loadLanguageModel(await openModelFile(await writeTinyModel()), places);
    const backends = Array.from({ length: layers }, (_, i) => (i < layers - 1 ? backend : last));
    const cache = contiguousKvCache(backends, { ...shape, sequences: 2 });
    const engine = new Engine({ model: parts, cache, capture, prefillChunk: 2 });
    const dispose = () => {
      engine.dispose();
      cache.dispose();
      parts.dispose();
    };
    return { engine, sequence: engine.sequence({ reuse: false }), [Symbol.dispose]: dispose };
  }

  const withoutGraph = (it: Backend): Backend => {
    const { graph: _, ...rest } = it;
    return rest;
  };

  test.each([
    ['captured', true, (it: Backend) => it],
    ['recorded', false, (it: Backend) => it],
    ['captured on backends with graphs', true, withoutGraph],
  ])('equals the model with one part, %s', async (_, capture, backendOf) => {
    using whole = await prefilled(caches.contiguous!());
    using it = await split(capture, backendOf(other));
    const { engine, sequence } = it;
    const processed: number[] = [];
    const onProgress = ({ done }: { readonly done: number }) => processed.push(done);
    expect(await engine.prefill(sequence, prompt, greedy, { onProgress })).toEqual({ token: whole.first });
    expect(processed).toEqual([2, 4, 5]);
    const want = await expected(8);
    expect(await oneByOne(engine, sequence, whole.first, 8)).toEqual(want);
    sequence.truncate(prompt.length);
    expect(await oneByOne(engine, sequence, whole.first, 8, drawing())).toEqual(await expectedDraws(8));
    sequence.truncate(prompt.length);
    const rows = [whole.first, ...want.slice(0, 4)];
    expect(await check(engine, sequence, rows)).toEqual(want.slice(0, 5));
    sequence.truncate(0);
    whole.sequence.truncate(0);
    expect(await engine.logits(sequence, prompt)).toEqual(await whole.engine.logits(whole.sequence, prompt));
  });

  test('an abort during a prompt keeps the completed chunks', async () => {
    using it = await split(true, other);
    const { engine, sequence } = it;
    const abort = new AbortController();
    const onProgress = () => abort.abort();
    const prefill = engine.prefill(sequence, prompt, greedy, { onProgress, signal: abort.signal });
    await expect(prefill).rejects.toMatchObject({ code: 'ABORTED' });
    expect(sequence.tokens.length).toBe(2);
    sequence.truncate(0);
    using whole = await prefilled(caches.contiguous!());
    expect(await engine.prefill(sequence, prompt, greedy, {})).toEqual({ token: whole.first });
  });
});
