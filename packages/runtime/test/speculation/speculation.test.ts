import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { exhaustive } from '../../../../test-scope.js';
import { type GenerateOptions, type LoadOptions, loadModel, type Model } from '../../src/index.js';
import { chiSquare, tokenProbabilities } from '../engine/sampling/reference.js';
import { writeTinyModel } from '../tiny-model.js';

let backend: Backend;
let target: Model;
/** Draft models: equal weights, other weights, other weights with a short context. */
let twin: Model;
let stranger: Model;
let short: Model;

const open = async (options: Parameters<typeof writeTinyModel>[0], load: LoadOptions = {}) =>
  loadModel(await writeTinyModel(options), { backend, ...load });

beforeAll(async () => {
  backend = await createBackend();
  [target, twin, stranger, short] = [
    await open({}),
    await open({}),
    await open({ seed: 500 }),
    await open({}, { context: 24 }),
  ];
});

afterAll(() => {
  for (const model of [target, twin, stranger, short]) model.dispose();
  backend.dispose();
});

const greedy: GenerateOptions = { temperature: 0, ignoreEos: true, maxTokens: 40 };
const repeating = 'the cat ran. the cat ran. the cat ran. the cat';

type Speculate = NonNullable<GenerateOptions['speculate']>;
const ways: Readonly<Record<string, () => Speculate>> = {
  lookup: () => ({ kind: 'lookup' }),
  'lookup of long drafts': () => ({ kind: 'lookup', maxDraft: 30, maxNgram: 2, adaptive: false }),
  'a draft model with the same weights': () => ({ kind: 'draft', model: twin, adaptive: false }),
  'a draft model with other weights': () => ({
    kind: 'draft',
    model: stranger,
    maxDraft: 4,
    adaptive: false,
  }),
  'a draft model with a short context': () => ({ kind: 'draft', model: short, adaptive: false }),
};

/** No cache memory is in use. */
function expectFree(): void {
  for (const model of [target, twin, stranger, short]) expect(model.freeBlocks).toBe(model.stats().blocks);
}

const quickWays = ['lookup of long drafts', 'a draft model with other weights'];
const testedWays = Object.entries(ways).filter(([name]) => exhaustive || quickWays.includes(name));

test('sampled drafts repeat where texts must: the draft model is deterministic, too', async () => {
  const deterministic = { deterministic: true };
  using model = await open({}, deterministic);
  using steady = await open({ seed: 500 }, deterministic);
  const sampled = (draft: Model) =>
    ({ maxTokens: 8, ignoreEos: true, seed: 3, speculate: { kind: 'draft', model: draft } }) as const;
  const refused =
    /^\[generate\] speculate\.model was loaded without deterministic, .* deterministic: true, or generate with temp/;
  await expect(model.generate('a', sampled(stranger)).result).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(refused),
  });
  expect(() => model.needSpeculation(sampled(stranger).speculate)).toThrow(refused);
  const again = async (options: GenerateOptions) => (await model.generate('a', options).result).tokens;
  expect(await again(sampled(steady))).toEqual(await again(sampled(steady)));
  expect(await again({ ...sampled(stranger), temperature: 0 })).toHaveLength(8);
  expect((await target.generate('a', sampled(stranger)).result).tokens).toHaveLength(8);
});

describe.each(testedWays)('%s', (_, way) => {
  test.each([
    ['replayed', {}],
    ['recorded', { graph: false }],
    ['in blocks', { blockSize: 8 }],
  ] as const)('equals plain greedy decoding, %s', async (_name, options) => {
    using model = await loadModel(target.path, { backend, ...options });
    const free = model.freeBlocks;
    for (const prompt of [repeating, 'a']) {
      const want = await target.generate(prompt, greedy).result;
      const got = await model.generate(prompt, { ...greedy, speculate: way() }).result;
      expect(got).toMatchObject({ tokens: want.tokens, text: want.text, reason: want.reason });
      expect(got.acceptedTokens).toBeLessThanOrEqual(got.draftedTokens);
    }
    expect(model.freeBlocks).toBe(free);
    expectFree();
  });

  test.each([{}, { deterministic: true }, { graph: false }])('several calls at once, %j', async (options) => {
    using model = await loadModel(target.path, { backend, sequences: 4, ...options });
    const prompts = [repeating, 'a', 'the cat ran', 'the dog. the dog. the'];
    const penalised = { ...greedy, frequencyPenalty: 0.3, penaltyWindow: 12 };
    const plain = prompts.map((_prompt, i) => (i % 2 === 0 ? greedy : penalised));
    const want: (readonly number[])[] = [];
    for (const [i, prompt] of prompts.entries())
      want.push((await target.generate(prompt, plain[i]!).result).tokens);
    const got = await Promise.all(
      prompts.map(
        (prompt, i) =>
          model.generate(prompt, i === 1 ? plain[i]! : { ...plain[i]!, speculate: way() }).result,
      ),
    );
    expect(got.map(({ tokens }) => tokens)).toEqual(want);
    expectFree();
  });

  test('and with penalties, at every position', async () => {
    const penalised = { ...greedy, repetitionPenalty: 1.3, frequencyPenalty: 0.3, penaltyWindow: 12 };
    const want = await target.generate(repeating, penalised).result;
    const got = await target.generate(repeating, { ...penalised, speculate: way() }).result;
    expect(got.tokens).toEqual(want.tokens);
  });

  test('ends at the context, an end token and a stop string like plain decoding', async () => {
    const cases: GenerateOptions[] = [
      { ...greedy, maxTokens: 1000 },
      { ...greedy, maxTokens: 1 },
      { ...greedy, maxTokens: 2 },
      { ...greedy, maxTokens: 0 },
      { temperature: 0, logitBias: { 2: 3 }, maxTokens: 60 },
    ];
    const { text } = await target.generate(repeating, greedy).result;
    for (const at of [3, 20]) cases.push({ ...greedy, stop: [text.slice(at, at + 3)] });
    for (const options of cases) {
      const want = await target.generate(repeating, options).result;
      const got = await target.generate(repeating, { ...options, speculate: way() }).result;
      expect(got).toMatchObject({ tokens: want.tokens, text: want.text, reason: want.reason });
    }
    expectFree();
  });

  test('an abort keeps the text and leaks nothing', async () => {
    const want = await target.generate(repeating, greedy).result;
    for (let at = 1; at < 30; at += 9) {
      const abort = new AbortController();
      const generation = target.generate(repeating, { ...greedy, signal: abort.signal, speculate: way() });
      let count = 0;
      let text = '';
      for await (const piece of generation) {
        text += piece.text;
        count += piece.tokens.length;
        if (count >= at) abort.abort();
      }
      const result = await generation.result;
      expect(result).toMatchObject({ reason: 'abort', text });
      expect(want.tokens.slice(0, result.tokens.length)).toEqual(result.tokens);
      expectFree();
    }
  });

  test('a session reuses the kept tokens', async () => {
    using session = target.session();
    const first = await session.generate(repeating, { ...greedy, maxTokens: 9, speculate: way() }).result;
    const prompt = [...target.tokenize(repeating), ...first.tokens, 5];
    const second = await session.generate(prompt, { ...greedy, maxTokens: 9, speculate: way() }).result;
    const kept = first.promptTokens + first.tokens.length - 1;
    expect(second.cachedTokens).toBe(kept - (kept % 16)); // whole blocks
    const want = await target.generate(prompt, { ...greedy, maxTokens: 9 }).result;
    expect(second.tokens).toEqual(want.tokens);
  });
});

describe('accepted drafts', () => {
  test('equal weights, greedy: all drafts', async () => {
    const speculate = { kind: 'draft', model: twin, adaptive: false } as const;
    const result = await target.generate('a', { ...greedy, speculate }).result;
    expect(result.draftedTokens).toBeGreaterThan(20);
    expect(result.acceptedTokens).toBe(result.draftedTokens);
  });

  test('equal weights, sampling: all drafts, without further draws', async () => {
    const options = { temperature: 1, topK: 8, seed: 3, maxTokens: 40, ignoreEos: true };
    const speculate = { kind: 'draft', model: twin, adaptive: false } as const;
    const result = await target.generate('a', { ...options, presencePenalty: 0.2, speculate }).result;
    expect(result.draftedTokens).toBeGreaterThan(20);
    expect(result.acceptedTokens).toBe(result.draftedTokens);
    const again = await target.generate('a', { ...options, presencePenalty: 0.2, speculate }).result;
    expect(again.tokens).toEqual(result.tokens);
  });

  test('no drafts if they cost more than they save', async () => {
    const speculate = { kind: 'draft', model: twin } as const; // as large as the model itself
    const result = await target.generate('a', { ...greedy, speculate }).result;
    expect(result.draftedTokens).toBe(0);
  });

  test('lookup: some drafts in repetitive text', async () => {
    const result = await target.generate('the cat', {
      ...greedy,
      maxTokens: 80,
      speculate: { kind: 'lookup' },
    }).result;
    expect(result.acceptedTokens).toBeGreaterThan(0);
  });

  test('without speculation: no drafts', async () => {
    expect(await target.generate('a', greedy).result).toMatchObject({ draftedTokens: 0, acceptedTokens: 0 });
  });
});

describe('sampling', () => {
  test('lookup: the tokens of plain sampling with the same seed', async () => {
    for (const seed of [1, 2, 3]) {
      const options = {
        temperature: 0.6,
        topK: 5,
        seed,
        frequencyPenalty: 0.1,
        maxTokens: 50,
        ignoreEos: true,
      };
      const want = await target.generate(repeating, options).result;
      const got = await target.generate(repeating, { ...options, speculate: { kind: 'lookup' } }).result;
      expect(got.tokens).toEqual(want.tokens);
      expect(got.draftedTokens).toBeGreaterThan(0);
    }
  });

  const four = [10, 20, 30, 40]; // both models choose among these tokens
  const logitBias = { 3: -100 }; // a space alone
  const forced = [31, 32, 33]; // xyz
  const amongFour: readonly (readonly [string, GenerateOptions, Forced])[] = [
    ['by logit bias', { logitBias: Object.fromEntries(four.map((id) => [id, 40])), maxTokens: 3 }, () => []],
    ['by a mask', { regex: '(c|m|w| g){3}', logitBias }, () => []],
    ['with forced tokens', { regex: '((c|m)xyz|w| g){3}', logitBias }, (id) => (id <= 20 ? forced : [])],
  ];

  test.each(amongFour)(
    'draft model, %s: the distribution of plain sampling',
    async (_, among, forcedAfter) => {
      const filters = { temperature: 2, topK: 4, topP: 1, minP: 0 };
      const runs = exhaustive ? 500 : 200;
      const speculate = { kind: 'draft', model: stranger, adaptive: false } as const;
      const prompt = target.tokenize('the');
      const counts = new Map<string, number>();
      let accepted = 0;
      let drafted = 0;
      for (let seed = 0; seed < runs; seed++) {
        const options = { ...filters, ...among, seed, speculate };
        const result = await target.generate(prompt, options).result;
        accepted += result.acceptedTokens;
        drafted += result.draftedTokens;
        const key = result.tokens
          .filter((id) => four.includes(id))
          .slice(0, 2)
          .join();
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      expect(drafted).toBeGreaterThan(runs / 2);
      expect(accepted).toBeGreaterThan(0);
      expect(accepted).toBeLessThan(drafted);
      const expected = await jointProbabilities(prompt, four, forcedAfter, filters);
      const keys = [...new Set([...expected.keys(), ...counts.keys()])];
      const statistic = chiSquare(
        keys.map((key) => counts.get(key) ?? 0),
        keys.map((key) => expected.get(key) ?? 0),
      );
      expect(keys).toHaveLength(16);
      expect(statistic).toBeLessThan(45); // 15 degrees of freedom: exceeded once in 10⁴; fixed seeds
    },
    120_000,
  );
});

/** The tokens that are forced after a chosen one. */
type Forced = (token: number) => readonly number[];

/** The probability of each pair of next chosen tokens, by the definition. */
async function jointProbabilities(
  prompt: readonly number[],
  among: readonly number[],
  forcedAfter: Forced,
  filters: Parameters<typeof tokenProbabilities>[1],
): Promise<Map<string, number>> {
  const after = async (ids: readonly number[]) => {
    const logits = (await target.logits(ids)).at(-1)!;
    return tokenProbabilities(
      logits.map((logit, token) => (among.includes(token) ? logit : Number.NEGATIVE_INFINITY)),
      filters,
    );
  };
  const joint = new Map<string, number>();
  for (const [a, pa] of (await after(prompt)).entries()) {
    if (pa === 0) continue;
    for (const [b, pb] of (await after([...prompt, a, ...forcedAfter(a)])).entries())
      if (pb > 0) joint.set(`${a},${b}`, pa * pb);
  }
  return joint;
}

describe('refusals', () => {
  const refused = async (speculate: Speculate) => target.generate('a', { ...greedy, speculate }).result;

  test('a draft model with another vocabulary: the error has the differing token', async () => {
    using other = await open({ spell: (token) => (token === 'q' ? 'Q' : token) });
    await expect(refused({ kind: 'draft', model: other })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/same vocabulary, but token \d+ is "Q", and "q" in the other/),
    });
  });

  test('the model itself, and a value that is not a model', async () => {
    await expect(refused({ kind: 'draft', model: target })).rejects.toMatchObject({ code: 'BAD_OPTION' });
    const nothing = JSON.parse('{"kind": "draft"}');
    await expect(refused(nothing)).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });

  test('a disposed draft model', async () => {
    const gone = await open({});
    gone.dispose();
    await expect(refused({ kind: 'draft', model: gone })).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  test.each<[string, object]>([
    ['kind', { kind: 'guess' }],
    ['maxDraft', { kind: 'lookup', maxDraft: 0 }],
    ['maxDraft', { kind: 'lookup', maxDraft: 65 }],
    ['maxNgram', { kind: 'lookup', maxNgram: 17 }],
    ['minNgram', { kind: 'lookup', minNgram: 4 }],
  ])('speculate.%s out of range: %j', async (name, speculate) => {
    const options = JSON.parse(JSON.stringify(speculate)) as Speculate;
    await expect(refused(options)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(`speculate.${name}`),
    });
  });
});

test('a call that waits for the draft model can be aborted', async () => {
  using small = await loadModel(twin.path, { backend, blockSize: 96 }); // the context: one call has all of it
  const holder = small.generate('the cat', greedy)[Symbol.asyncIterator]();
  await holder.next();
  const abort = new AbortController();
  const speculate = { kind: 'draft', model: small, adaptive: false } as const; // it must wait: it drafts always
  const waiting = target.generate('a', { ...greedy, signal: abort.signal, speculate }).result;
  await new Promise((resolve) => setImmediate(resolve)); // it waits now, and the holder has tokens to write
  abort.abort();
  expect((await waiting).reason).toBe('abort');
  await holder.return?.();
  expect(target.freeBlocks).toBe(target.stats().blocks);
});
