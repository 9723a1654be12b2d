// Calls of all kinds at once over a cache that is too small for them: each gives what it gives alone.
import { exhaustive } from '../../../../test-scope.js';
import {
  type GenerateOptions,
  type GenerationResult,
  type LoadOptions,
  loadModel,
  type Model,
} from '../../src/index.js';
import { writeTinyAdapter } from '../tiny-adapter.js';
import { writeTinyModel } from '../tiny-model.js';

/** The bits of a row do not depend on the other rows of its step, nor on the chunks of its prompt. */
const backend = 'reference';
const adapters = {
  one: writeTinyAdapter(),
  two: writeTinyAdapter({ rank: 2, seed: 500, modules: ['mlp.up_proj'] }),
};

let path: string;
/** With room for all calls. */
let ample: Model;
let drafting: Model;
beforeAll(async () => {
  path = await writeTinyModel();
  const options = { backend, blockSize: 8, sequences: 12 } as const;
  ample = await loadModel(path, { ...options, adapters });
  drafting = await loadModel(await writeTinyModel({ seed: 500 }), options);
});
afterAll(() => {
  ample.dispose();
  drafting.dispose();
});

/** Pseudo-random choices: the same for the same seed. */
class Chooser {
  constructor(private state: number) {}

  below(most: number): number {
    this.state = (this.state * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((this.state / 2 ** 31) * most);
  }

  one<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** `options` in `percent` of all cases, else none. */
  perhaps<T extends object>(percent: number, options: () => T): Partial<T> {
    return this.below(100) < percent ? options() : {};
  }
}

const prompts = [
  'a',
  'the cat ran. the cat ran. the cat',
  'the dog ran over the lazy fox and over the dog again and again',
];

const structures: readonly GenerateOptions[] = [
  { ignoreEos: true },
  {},
  { regex: '(( [a-c]{1,2})+[.] end,)+' }, // with tokens that are forced
  { regex: '( [a-e]{1,3}){5}[.]' },
  { choices: ['a cab', 'abba abba abba abba', 'the dog'] },
];

const drafts = (by: Chooser): readonly GenerateOptions[] => [
  {},
  { speculate: { kind: 'lookup', maxNgram: 1, maxDraft: by.one([3, 30]), adaptive: by.below(2) === 0 } },
  { temperature: 0, speculate: { kind: 'draft', model: drafting, maxDraft: 4, adaptive: false } }, // drawn: other tokens
];

const options = (by: Chooser): GenerateOptions => ({
  temperature: by.one([0, 0.7, 1.5]),
  seed: by.below(1e6),
  maxTokens: 1 + by.below(50),
  ...by.one(structures),
  ...by.one(drafts(by)),
  ...by.perhaps(30, () => ({ logprobs: by.one([0, 2]) })),
  ...by.perhaps(20, () => ({ presencePenalty: 0.4, frequencyPenalty: 0.1, penaltyWindow: by.one([-1, 6]) })),
  ...by.perhaps(20, () => ({ logitBias: { 10: 2, 12: -3 } })),
  ...by.perhaps(30, () => ({
    adapters: by.one<NonNullable<GenerateOptions['adapters']>>(['one', ['one', 'two']]),
  })),
  ...by.perhaps(20, () => ({ priority: by.one([1, 5]) })),
});

/** Most of these hold one or two of the calls. */
const caches = (by: Chooser): LoadOptions => ({
  sequences: by.one([1, 2, 3]),
  prefillChunk: by.one([8, 64]),
  ...by.one<LoadOptions>([{}, {}, { deterministic: true }, { graph: false }, { cacheMemory: 1 << 14 }]),
});

interface Call {
  readonly prompt: string;
  readonly options: GenerateOptions;
  /** Number of tokens after which its reader aborts. */
  readonly leaves: number;
}

async function run(model: Model, { prompt, options, leaves }: Call): Promise<GenerationResult> {
  const abort = new AbortController();
  const generation = model.generate(prompt, { ...options, signal: abort.signal });
  let count = 0;
  for await (const { tokens } of generation) {
    count += tokens.length;
    if (count >= leaves) abort.abort();
  }
  return generation.result;
}

/** For the message of a failure. */
const shown = ({ speculate, ...others }: GenerateOptions) =>
  JSON.stringify({ ...others, drafts: speculate?.kind });

const seeds = Array.from({ length: exhaustive ? 12 : 2 }, (_, i) => i + 1);

test.each(seeds)('seed %d', async (seed) => {
  const by = new Chooser(seed);
  using model = await loadModel(path, {
    ...{ backend, blockSize: 8, adapters, onNotice: () => {} },
    ...caches(by),
  });
  const calls = Array.from({ length: 4 + by.below(8) }, (): Call => {
    const leaves = by.below(5) === 0 ? 1 + by.below(10) : Number.POSITIVE_INFINITY;
    return { prompt: by.one(prompts), options: options(by), leaves };
  });
  const together = await Promise.all(calls.map((call) => run(model, call)));
  for (const [i, { prompt, options }] of calls.entries()) {
    const { speculate: _, ...plain } = options;
    const want = await ample.generate(prompt, plain).result;
    const got = together[i]!;
    const { length } = got.tokens;
    const reason = got.reason === 'abort' ? 'abort' : want.reason;
    expect([shown(options), got.reason, got.tokens]).toEqual([
      shown(options),
      reason,
      want.tokens.slice(0, got.reason === 'abort' ? length : undefined),
    ]);
    for (const [at, { logprob }] of got.logprobs?.entries() ?? [])
      expect(logprob).toBeCloseTo(want.logprobs![at]!.logprob, 3);
  }
  expect(model.freeBlocks).toBe(model.stats().blocks);
});
