// Draws of a device with the op `sample` equal the sampler's.
import { createBackend as createReference } from '@quern/backend-reference';
import { type Backend, type InputOf, RepeatedStep, type Step } from '@quern/core';
import { random } from '@quern/core/testing';
import { canFeed, modeKey, modeOf, plainMode } from '../../../src/engine/sampling/mode.js';
import type { SamplingOptions } from '../../../src/engine/sampling/options.js';
import { type SamplingParams, samplingParams } from '../../../src/engine/sampling/params.js';
import { sampleLogits, takeToken } from '../../../src/engine/sampling/pipeline.js';
import { recordSampling, samplingArrays, writeSampling } from '../../../src/engine/sampling/record.js';
import { Sampler } from '../../../src/engine/sampling/sampler.js';
import { hasCpu } from '../../backends.js';

const off: SamplingOptions = { temperature: 1, topK: 0, topP: 1, minP: 0 };
const choices: Readonly<Record<string, SamplingOptions>> = {
  'the defaults': {},
  'nothing cut': off,
  'top-k': { ...off, topK: 7 },
  'top-k above the ranked tokens': { ...off, topK: 300 },
  'top-k above the vocabulary': { ...off, topK: 1_000_000 },
  'top-k 1': { ...off, topK: 1 },
  'top-p': { ...off, topP: 0.9 },
  'top-p near 1': { ...off, topP: 0.99999 },
  'a tiny top-p': { ...off, topP: 1e-9 },
  'min-p': { ...off, minP: 0.02 },
  'min-p 1': { ...off, minP: 1 },
  'top-p and min-p': { ...off, topP: 0.8, minP: 0.1 },
  'all filters, high temperature': { temperature: 2.5, topK: 60, topP: 0.97, minP: 0.01 },
  'a low temperature': { ...off, temperature: 0.05 },
  'a tiny temperature': { ...off, temperature: 1e-30 },
  penalties: { ...off, repetitionPenalty: 1.3, presencePenalty: 0.5, frequencyPenalty: 0.2 },
  'penalties and bias, greedy': { temperature: 0, presencePenalty: 2, logitBias: { 3: 4, 5: -1 } },
  'a ban': { ...off, topK: 3, logitBias: { 1: Number.NEGATIVE_INFINITY, 2: 5 } },
};

/** Logits with ties and impossible tokens. */
function someLogits(vocabulary: number, seed: number): Float32Array {
  const next = random(seed);
  return Float32Array.from({ length: vocabulary }, () => {
    const value = 6 * (next() + next() + next() + next() - 2);
    if (next() < 0.01) return Number.NEGATIVE_INFINITY;
    return next() < 0.3 ? Math.round(value) : value;
  });
}

/** The device's draw, `ahead` draws after the next one. */
async function drawn(backend: Backend, logits: Float32Array, params: SamplingParams, ahead: number) {
  const mode = modeOf([{ wanted: { sampling: { ...params, distributions: false } }, outputs: 1 }], true);
  const arrays = { ...samplingArrays(1, logits.length, mode), logits };
  const record = (_step: Step, input: InputOf<typeof arrays>) => ({
    outputs: recordSampling(backend, input('logits', [1, logits.length]), mode, input),
  });
  const step = RepeatedStep.recorded({ arrays, parts: [{ backend, graph: undefined, record }] });
  writeSampling(
    step,
    [{ start: 0, tokens: [0], blocks: [], outputs: 1, sampling: { params, masks: undefined } }],
    1 + ahead,
  );
  step.arrays.draws[0] = ahead;
  await step.run(undefined);
  return (step.read('best') as Int32Array).slice();
}

async function createCpu(): Promise<Backend> {
  const { createBackend } = await import('@quern/backend-cpu');
  return createBackend({ threads: 2 });
}

const backends = [
  ['reference', createReference, 300],
  ...(hasCpu ? ([['cpu', createCpu, 4000]] as const) : []),
] as const;

describe.each(backends)('%s', (_name, create, vocabulary) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await create();
  });
  afterAll(() => backend.dispose());

  test.each(Object.entries(choices))('%s', async (_label, options) => {
    const device = samplingParams({ ...options, seed: 5 }, vocabulary);
    const host = new Sampler({ ...options, seed: 5 }, vocabulary);
    for (let i = 0; i < 12; i++) {
      const logits = someLogits(vocabulary, i);
      const best = await drawn(backend, logits, device, 0);
      const { token } = takeToken(device, { best, logits: undefined });
      expect(token).toBe(host.sample(logits));
      host.accept(token);
    }
  });

  test('draws ahead equal the later draws', async () => {
    const params = samplingParams({ ...off, seed: 9 }, vocabulary);
    const logits = someLogits(vocabulary, 1);
    const ahead: number[] = [];
    for (let i = 0; i < 5; i++) ahead.push((await drawn(backend, logits, params, i))[0]!);
    expect(ahead).toEqual(ahead.map(() => sampleLogits(params, logits, {})));
    expect(new Set(ahead).size).toBeGreaterThan(1);
  });

  test('no possible token: an error when it is taken', async () => {
    const params = samplingParams({ seed: 1 }, 3);
    for (const values of [
      [Number.NaN, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
      [0, Number.POSITIVE_INFINITY, 0],
    ]) {
      const best = await drawn(backend, Float32Array.from(values), params, 0);
      const take = () => takeToken(params, { best, logits: undefined });
      expect(take).toThrow(expect.objectContaining({ code: 'BAD_LOGITS' }));
    }
  });
});

describe('the mode of a step', () => {
  const kindOf = (options: SamplingOptions, wanted: Partial<SamplingParams> = {}, canDraw = true) => {
    const sampling = { ...samplingParams({ temperature: 0, ...options }, 9), ...wanted };
    sampling.recent?.accept(1);
    const mode = modeOf([{ wanted: { sampling }, outputs: 1 }], canDraw);
    return modeKey(mode);
  };

  test('has what its rows need, and no more', () => {
    expect(modeOf([{ wanted: { sampling: undefined }, outputs: 1 }], true)).toEqual(plainMode('none'));
    expect(kindOf({})).toBe('argmax');
    expect(kindOf({}, {}, false)).toBe('argmax');
    expect(kindOf({ repetitionPenalty: 1.1, penaltyWindow: 0 })).toBe('argmax');
    expect(kindOf({ temperature: 1 })).toBe(modeKey(plainMode('drawn')));
    expect(kindOf({ temperature: 1 }, {}, false)).toBe('ranked');
    expect(kindOf({}, { logprobs: 0 })).toBe(modeKey(plainMode('drawn', true)));
    expect(kindOf({}, { logprobs: 21 })).toBe('ranked');
    expect(kindOf({}, { distributions: true })).toBe('ranked');
  });

  test.each<[string, SamplingOptions, boolean]>([
    ['repetition', { repetitionPenalty: 1.1 }, false],
    ['presence', { presencePenalty: 1 }, false],
    ['frequency', { frequencyPenalty: 1 }, false],
    ['bias', { logitBias: { 3: 1 } }, true],
  ])('%s changes logits', (_, options, biases) => {
    const changes = { kind: 'drawn', biases, recent: 16, masks: true, logprobs: false } as const;
    expect(kindOf(options)).toBe(modeKey(changes));
    expect(canFeed(changes)).toBe(false);
  });

  test('counts the tokens of penalties and the drafts before a row', () => {
    const sampling = samplingParams({ presencePenalty: 1, penaltyWindow: -1 }, 9);
    const recentOf = (outputs: number) => modeOf([{ wanted: { sampling }, outputs }], true);
    for (let i = 0; i < 12; i++) sampling.recent!.accept(i % 5);
    expect([1, 5, 6].map((outputs) => recentOf(outputs).recent)).toEqual([16, 16, 64]);
    for (let i = 0; i < 4085; i++) sampling.recent!.accept(1);
    expect(recentOf(1).kind).toBe('ranked'); // more than a device counts
  });
});

test('the last tokens of a window, each as often as it occurs', () => {
  const written = (penaltyWindow: number) => {
    const { recent } = samplingParams({ presencePenalty: 1, penaltyWindow }, 9);
    for (const token of [1, 2, 2, 3, 2, 8]) recent!.accept(token);
    const into = new Int32Array(recent!.length);
    expect(recent!.write(into)).toBe(into.length);
    return [...into].sort();
  };
  expect(written(-1)).toEqual([1, 2, 2, 2, 3, 8]);
  expect(written(3)).toEqual([2, 3, 8]);
  expect(written(9)).toEqual([1, 2, 2, 2, 3, 8]);
});
