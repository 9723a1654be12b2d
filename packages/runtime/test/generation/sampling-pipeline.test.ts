// Every combination of what the sampling pipeline does, on a device that draws and on the host, with and without drafts:
// each text, its log-probabilities and its counts equal those of the plain path: one token at a time, by the host.
import { exhaustive } from '../../../../test-scope.js';
import { Runner } from '../../src/engine/runner/runner.js';
import { type GenerateOptions, type GenerationResult, loadModel, type Model } from '../../src/index.js';
import { writeTinyModel } from '../tiny-model.js';

const draws: readonly GenerateOptions[] = [{ temperature: 0 }, { temperature: 0.9, seed: 7 }];
const biases: readonly GenerateOptions[] = [
  {},
  { logitBias: { 10: 2, 12: -3, 15: Number.NEGATIVE_INFINITY } },
];
const penalties: readonly GenerateOptions[] = [
  {},
  { repetitionPenalty: 1.2, presencePenalty: 0.4, frequencyPenalty: 0.1, penaltyWindow: 9 },
];
const masks: readonly GenerateOptions[] = [{}, { regex: '(( [a-c]{1,2})+[.] end,)+' }]; // with parts that are forced
const logprobs: readonly GenerateOptions[] = [{}, { logprobs: 2 }];

/** All combinations of one element of each list. */
const product = [draws, biases, penalties, masks, logprobs].reduce<readonly GenerateOptions[]>(
  (combinations, list) =>
    combinations.flatMap((combination) => list.map((one) => ({ ...combination, ...one }))),
  [{ maxTokens: exhaustive ? 40 : 20 }],
);

const prompt = 'the cat ran. the cat ran. the cat';

interface Models {
  readonly device: Model;
  readonly host: Model;
  /** Drafts for both: other weights, and equal ones. */
  readonly stranger: Model;
  readonly twin: Model;
}
let models: Models;
beforeAll(async () => {
  const options = { backend: 'reference', blockSize: 8, sequences: 12 } as const;
  const path = await writeTinyModel();
  models = {
    device: await loadModel(path, options),
    host: await loadModel(path, { ...options, graph: false }),
    stranger: await loadModel(await writeTinyModel({ seed: 500 }), options),
    twin: await loadModel(path, options),
  };
});
afterAll(() => {
  for (const model of Object.values(models)) model.dispose();
});

type Speculate = NonNullable<GenerateOptions['speculate']>;
const lookup: Speculate = { kind: 'lookup', maxNgram: 1, maxDraft: 12, adaptive: false };
/** Right drafts of all texts by lookup: one alone may have none. */
const found = { device: 0, host: 0 };
const draftBy = (model: Model): Speculate => ({ kind: 'draft', model, maxDraft: 4, adaptive: false });

/** The device's log-probabilities are f32. */
const shown = ({ tokens, text, reason, logprobs, promptTokens }: GenerationResult) => ({
  ...{ tokens, text, reason, promptTokens },
  logprobs: logprobs?.map(({ token, top }) => [token, ...top.map((each) => each.token)]),
});

function expectEqual(got: GenerationResult, want: GenerationResult): void {
  expect(shown(got)).toEqual(shown(want));
  const values = ({ logprobs = [] }: GenerationResult) =>
    logprobs.flatMap(({ logprob, top }) => [logprob, ...top.map((each) => each.logprob)]);
  for (const [i, value] of values(got).entries()) expect(value).toBeCloseTo(values(want)[i]!, 4);
}

/** Kinds of the modes of the steps of `model` while `act` runs. */
async function kindsDuring(act: () => Promise<unknown>): Promise<Set<string>> {
  const { run } = Runner.prototype;
  const kinds = new Set<string>();
  const watched: typeof run = function (this: Runner, batch, take, options) {
    kinds.add(options.mode.kind);
    return run.call(this, batch, take as never, options) as never;
  };
  Runner.prototype.run = watched;
  try {
    await act();
  } finally {
    Runner.prototype.run = run;
  }
  return kinds;
}

const label = (options: GenerateOptions): string =>
  ['temperature', 'logitBias', 'repetitionPenalty', 'regex', 'logprobs']
    .filter((name) => options[name as keyof GenerateOptions])
    .join(', ');

describe.each(product.map((options) => [label(options) || 'greedy', options] as const))(
  '%s',
  (_, options) => {
    let want: GenerationResult;
    beforeAll(async () => {
      const kinds = await kindsDuring(async () => {
        want = await models.host.generate(prompt, options).result;
      });
      for (const kind of kinds) expect(['argmax', 'ranked']).toContain(kind);
      expect(want).toMatchObject({ draftedTokens: 0, acceptedTokens: 0 });
      if (options.logprobs) expect(want.logprobs!.map(({ token }) => token)).toEqual(want.tokens);
    });

    test('drawn by the device', async () => {
      const kinds = await kindsDuring(async () =>
        expectEqual(await models.device.generate(prompt, options).result, want),
      );
      for (const kind of kinds) expect(['argmax', 'drawn']).toContain(kind);
    });

    test.each(['device', 'host'] as const)('drafts by lookup, on the %s', async (place) => {
      const got = await models[place].generate(prompt, { ...options, speculate: lookup }).result;
      expectEqual(got, want);
      expect(got.acceptedTokens).toBeLessThanOrEqual(got.draftedTokens);
      found[place] += got.acceptedTokens;
    });

    test.each(['device', 'host'] as const)('drafts by a model, on the %s', async (place) => {
      const speculate = draftBy(models.stranger);
      const got = await models[place].generate(prompt, { ...options, speculate }).result;
      if (options.temperature === 0) expectEqual(got, want);
      else {
        // other draws, of the same distribution: see test/speculation
        const again = await models[place].generate(prompt, { ...options, speculate }).result;
        expectEqual(again, got);
        if (options.regex) expect(got.text).toMatch(/^[a-c .end,]*$/);
        expect(got.tokens).not.toContain(options.logitBias ? 15 : -1);
        expect(got.logprobs?.map(({ token }) => token)).toEqual(options.logprobs && got.tokens);
      }
      expect(got.draftedTokens).toBeGreaterThan(0);
    });

    test('drafts of equal weights are all right', async () => {
      const speculate = draftBy(models.twin);
      const got = await models.device.generate(prompt, { ...options, speculate }).result;
      expect(got.draftedTokens).toBeGreaterThan(0);
      expect(got.acceptedTokens).toBe(got.draftedTokens);
    });
  },
);

test('a token that must come next, and that the bias forbids: the text is spelt otherwise, also after drafts', async () => {
  const word = 40; // ' g'; also a space and g
  const options = {
    temperature: 0,
    regex: '([ab][ab] g){8}',
    logitBias: { [word]: Number.NEGATIVE_INFINITY },
  };
  const want = await models.host.generate(prompt, { ...options, maxTokens: 60 }).result;
  expect(want.text).toMatch(/^([ab][ab] g){8}$/);
  expect(want.tokens).not.toContain(word);
  for (const speculate of [lookup, draftBy(models.stranger), draftBy(models.twin)]) {
    const got = await models.device.generate(prompt, { ...options, maxTokens: 60, speculate }).result;
    expectEqual(got, want);
    expect(got.draftedTokens).toBeGreaterThan(0);
  }
});

test('drafts by lookup were right in some texts', () => {
  expect(Math.min(found.device, found.host)).toBeGreaterThan(20);
});

test('all of them at once, drafts beside plain rows', async () => {
  const all = product.map((options, i) => ({ ...options, ...(i % 3 === 0 && { speculate: lookup }) }));
  const alone: GenerationResult[] = [];
  for (const options of product) alone.push(await models.host.generate(prompt, options).result);
  const together = await Promise.all(all.map((options) => models.device.generate(prompt, options).result));
  for (const [i, got] of together.entries()) expectEqual(got, alone[i]!);
  for (const model of Object.values(models)) expect(model.freeBlocks).toBe(model.stats().blocks);
});
