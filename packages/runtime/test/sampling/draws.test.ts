// Draws of a device with the op `sample` equal the sampler's.
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend, Step, Tensor } from '@quern/core';
import { random } from '@quern/core/testing';
import { Sampler, type SamplingOptions } from '../../src/sampling/index.js';
import { hasCpu } from '../backends.js';

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

/** Logits after the sampler's bias and penalties, on the device. */
function adjusted(backend: Backend, logits: Tensor, step: Step, { adjustment }: Sampler): Tensor {
  if (!adjustment) return logits;
  const V = logits.shape[1]!;
  const bias = new Float32Array(V);
  for (const [token, value] of adjustment.bias) bias[token] = value;
  const recent = new Int32Array(adjustment.recent);
  expect(adjustment.writeRecent(recent, [])).toBe(recent.length);
  const biased = backend.add(logits, step.input(bias, [1, V]));
  const strengths = step.input(adjustment.strengths, [1, 3]);
  return backend.penalise(biased, step.input(recent, [1, recent.length]), strengths);
}

/** The device's draw. */
async function drawn(backend: Backend, logits: Float32Array, sampler: Sampler, ahead: number) {
  const { settings, peek } = sampler.draws;
  const words = new Int32Array(2 * (ahead + 1));
  peek(words, 0, ahead + 1);
  const step = backend.step();
  const x = adjusted(backend, step.input(logits, [1, logits.length]), step, sampler);
  const inputs = [step.input(settings, [1, 4]), step.input(words, [ahead + 1, 2])] as const;
  const y = backend.sample(x, ...inputs, step.input(Int32Array.of(ahead)));
  await step.run();
  return (await step.read(y))[0]!;
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
    const device = new Sampler({ ...options, seed: 5 }, vocabulary);
    const host = new Sampler({ ...options, seed: 5 }, vocabulary);
    for (let i = 0; i < 12; i++) {
      const logits = someLogits(vocabulary, i);
      const token = await drawn(backend, logits, device, 0);
      expect(token).toBe(host.sample(logits));
      device.draws.take(token);
      for (const sampler of [device, host]) sampler.accept(token);
    }
  });

  test('draws ahead equal the later draws', async () => {
    const sampler = new Sampler({ ...off, seed: 9 }, vocabulary);
    const logits = someLogits(vocabulary, 1);
    const ahead: number[] = [];
    for (let i = 0; i < 5; i++) ahead.push(await drawn(backend, logits, sampler, i));
    expect(ahead).toEqual(ahead.map(() => sampler.sample(logits)));
    expect(new Set(ahead).size).toBeGreaterThan(1);
  });

  test('no possible token: an error when it is taken', async () => {
    const sampler = new Sampler({ seed: 1 }, 3);
    for (const values of [
      [Number.NaN, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
      [0, Number.POSITIVE_INFINITY, 0],
    ]) {
      const token = await drawn(backend, Float32Array.from(values), sampler, 0);
      expect(() => sampler.draws.take(token)).toThrow(expect.objectContaining({ code: 'BAD_LOGITS' }));
    }
  });
});

test('changes of logits are for the device only where there are some', () => {
  const sampler = (options: SamplingOptions) => new Sampler({ seed: 1, ...options }, 9).adjustment;
  expect(sampler({})).toBeUndefined();
  expect(sampler({ repetitionPenalty: 1.1, penaltyWindow: 0 })).toBeUndefined();
  for (const options of [
    { repetitionPenalty: 1.1 },
    { presencePenalty: 1 },
    { frequencyPenalty: 1 },
    { logitBias: { 3: 1 } },
  ])
    expect(sampler(options)).toBeDefined();
});

test('the last tokens of a window, each as often as it occurs', () => {
  const written = (penaltyWindow: number) => {
    const sampler = new Sampler({ presencePenalty: 1, penaltyWindow }, 9);
    for (const token of [1, 2, 2, 3, 2, 8]) sampler.accept(token);
    const { recent, writeRecent } = sampler.adjustment!;
    const into = new Int32Array(recent);
    writeRecent(into, []);
    return [...into].sort();
  };
  expect(written(-1)).toEqual([1, 2, 2, 2, 3, 8]);
  expect(written(3)).toEqual([2, 3, 8]);
  expect(written(9)).toEqual([1, 2, 2, 2, 3, 8]);
});
