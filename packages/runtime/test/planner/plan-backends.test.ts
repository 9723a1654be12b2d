import type { ModelCosts, WeightCost } from '@quern/models';
import { type PlannedModel, type PlannerDevice, type PlanRequest, planBackends } from '../../src/index.js';
import { showBytes } from '../../src/planner/memory.js';

const model: PlannedModel = {
  architecture: 'llama',
  config: {
    layers: 16,
    width: 2048,
    heads: 32,
    kvHeads: 8,
    headDim: 64,
    feedForward: 8192,
    vocabulary: 128256,
    normEps: 1e-5,
    rope: { theta: 500000, layout: 'interleaved' },
    context: 131072,
    windows: [],
    tied: true,
  },
};

const GB = 1e9;

const nothing: WeightCost = { bytes: 0, perToken: 0, active: 0, inBlocks: 0 };
/** Layers of equal size; tied: the embedding has a quarter of the bytes. */
const costs = (bytes: number): ModelCosts => {
  const share = (0.75 * bytes) / 16;
  return {
    layers: Array.from({ length: 16 }, () => ({
      ...{ bytes: share, perToken: share, active: 1.2e9 / 16, inBlocks: 0 },
    })),
    embed: nothing,
    logits: nothing,
    both: { bytes: bytes / 4, perToken: bytes / 4, active: 128256 * 2048, inBlocks: 0 },
  };
};

const device = (backend: string, freeMemory: number, more: Partial<PlannerDevice> = {}): PlannerDevice => ({
  backend,
  freeMemory,
  costs: costs(0.8 * GB),
  decoded: [],
  profile: {
    kind: 'cpu',
    name: 'made up',
    isa: 'avx9',
    threads: 8,
    totalMemory: 64 * GB,
    readBandwidth: 40 * GB,
    flops: 1e12,
  },
  ...more,
});

const request: PlanRequest = { cacheDtype: 'f16', sequences: 1, prefillChunk: 512 };
/** Cache bytes per token: keys and values, 16 layers, 8 heads, 64 elements, 2 bytes each. */
const perToken = 2 * 16 * 8 * 64 * 2;

const codeOf = (plan: () => unknown): unknown => {
  try {
    return plan();
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test('a context beyond the table of learned positions is refused, with both numbers', () => {
  const learned = { ...model, config: { ...model.config, context: 1024, positionRows: 1024 } };
  const plan = (context?: number) =>
    planBackends(learned, [device('cpu', 8 * GB)], { ...request, ...(context && { context }) });
  expect([plan().context, plan(1024).context]).toEqual([1024, 1024]);
  expect(() => plan(2048)).toThrow(
    expect.objectContaining({ code: 'CONTEXT_TOO_LARGE', message: expect.stringMatching(/2048.*1024 rows/) }),
  );
  const longer = { ...learned, config: { ...learned.config, context: 8192, positionRows: 512 } };
  expect(planBackends(longer, [device('cpu', 8 * GB)], request).context).toBe(512);
});

test('all layers on the first device that fits, with its memory and speed', () => {
  const plan = planBackends(model, [device('cpu', 8 * GB)], { ...request, context: 2048 });
  expect(plan.ranges).toEqual([{ backend: 'cpu', firstLayer: 0, endLayer: 16, memory: plan.memory }]);
  expect(plan).toMatchObject({ context: 2048, cacheDtype: 'f16' });
  expect(plan.memory).toMatchObject({ weights: 0.8 * GB, cache: 2048 * perToken, available: 8 * GB });
  expect(plan.memory.activations).toBeGreaterThan(512 * 3 * 8192 * 4);
  expect(plan.estimate.decodeTokensPerSecond).toBe(50);
  expect(plan.estimate.prefillTokensPerSecond).toBeCloseTo(1e12 / (2 * 1.2e9));
});

/** The plan of 16 layers, two thirds of their active weights in blocks, on a device with these rates. */
function planWith(rates: Partial<PlannerDevice['profile']>) {
  const layer: WeightCost = { bytes: 1e6, perToken: 1e6, active: 3e6, inBlocks: 2e6 };
  const costs: ModelCosts = {
    layers: Array.from({ length: 16 }, () => layer),
    ...{ embed: nothing, logits: nothing, both: nothing },
  };
  const { profile, ...rest } = device('cpu', 8 * GB, { costs });
  return planBackends(model, [{ ...rest, profile: { ...profile, ...rates } }], request);
}

test('a token takes as long as its bytes, or as the products with weights in blocks and with others', () => {
  const rateOf = (rates: Partial<PlannerDevice['profile']>) => planWith(rates).estimate.decodeTokensPerSecond;
  expect(rateOf({ readBandwidth: 1e9, flops: 1e12, rowFlops: 1e12 })).toBeCloseTo(1 / (16 * 1e-3), 6);
  expect(rateOf({ readBandwidth: 1e12, flops: 2e9, rowFlops: 1e9 })).toBeCloseTo(1 / (16 * (1e-3 + 4e-3)), 6);
  expect(rateOf({ readBandwidth: 1e12, flops: 2e9 })).toBeCloseTo(1 / (16 * 3e-3), 6);
});

test('a prompt: weights in blocks at promptFlops, others at flops', () => {
  const rateOf = (rates: Partial<PlannerDevice['profile']>) =>
    planWith(rates).estimate.prefillTokensPerSecond;
  expect(rateOf({ flops: 1e9, promptFlops: 4e9 })).toBeCloseTo(1 / (16 * (2e-3 + 1e-3)), 6);
  expect(rateOf({ flops: 1e9 })).toBeCloseTo(1 / (16 * 6e-3), 6);
  expect(planWith({ precision: 'fast' }).ranges).toMatchObject([{ precision: 'fast' }]);
  expect(planWith({}).ranges[0]).not.toHaveProperty('precision');
});

test('a device with several plans in flight: memory for one prompt chunk each', () => {
  const activationsOf = (plansInFlight: number, prefillChunk: number) => {
    const { profile, ...rest } = device('gpu', 8 * GB);
    const busy = { ...rest, profile: { ...profile, plansInFlight } };
    return planBackends(model, [busy], { ...request, prefillChunk, context: 2048 }).memory.activations;
  };
  expect(activationsOf(2, 512)).toBe(activationsOf(1, 1024));
  expect(activationsOf(2, 512)).toBeGreaterThan(activationsOf(1, 512));
});

describe('the default context', () => {
  const planOn = (
    free: number,
    config: Partial<PlannedModel['config']> = {},
    more: Partial<PlanRequest> = {},
  ) =>
    planBackends({ ...model, config: { ...model.config, ...config } }, [device('cpu', free)], {
      ...request,
      ...more,
    });
  const reasonOf = ({ reasons }: ReturnType<typeof planOn>) => reasons.at(-1);

  test('the trained one, where half of the memory beside weights and steps holds it', () => {
    const plan = planOn(60 * GB);
    expect(plan).toMatchObject({ context: 131072, room: 131072 });
    expect(plan.memory.cache).toBe(131072 * perToken);
    expect(reasonOf(plan)).toBe('context 131072: all that the model was trained for');
  });

  test('as much as half of this memory holds', () => {
    const plan = planOn(4 * GB);
    const { weights, activations, cache } = plan.memory;
    const beside = (15 / 16) * 4 * GB - weights - activations;
    expect(cache).toBeGreaterThan(beside / 2 - perToken);
    expect(cache).toBeLessThanOrEqual(beside / 2);
    expect(reasonOf(plan)).toBe(
      `context ${plan.context}: the cache takes half of the memory beside the weights; the model was trained for 131072; ` +
        'a token takes 32.8 kB of cache',
    );
  });

  test('4096 as far as all of this memory holds them', () => {
    const modest = planOn(1.1 * GB);
    expect(modest.context).toBe(4096);
    expect(modest.memory.cache).toBeGreaterThan(((15 / 16) * 1.1 * GB - 0.8 * GB) / 2);
    expect(reasonOf(modest)).toMatch(
      /^context 4096: the default where memory is short; the model was trained/,
    );
    const least = planOn(0.98 * GB);
    expect(least.context).toBeLessThan(4096);
    expect(reasonOf(least)).toMatch(/: all that fits in memory; /);
  });

  test('sequences share the room of the cache: one may take all of it', () => {
    const shared = planOn(8 * GB, {}, { sequences: 8 });
    expect(shared.context).toBe(shared.room);
    expect(reasonOf(shared)).toMatch(new RegExp(`; ${shared.room} tokens for all sequences together$`));
    const ample = planOn(100 * GB, {}, { sequences: 8 });
    expect(ample).toMatchObject({ context: 131072, room: 8 * 131072 });
    const asked = planOn(8 * GB, {}, { sequences: 8, context: 1000 });
    expect(asked).toMatchObject({ context: 1000, room: 8000 });
  });

  test('LongRoPE: the context of the factors for short texts; a table of positions: its rows', () => {
    const { rope } = model.config;
    const long = planOn(60 * GB, { shortRope: { context: 4096, rope } });
    expect(long.context).toBe(4096);
    expect(reasonOf(long)).toBe(
      "context 4096: the model's factors for short texts end here; ask for more, up to 131072, to use those for long texts",
    );
    expect(planOn(60 * GB, { shortRope: { context: 4096, rope } }, { context: 8192 }).context).toBe(8192);
    const table = planOn(60 * GB, { positionRows: 1024 });
    expect(reasonOf(table)).toBe("context 1024: the model's table of positions has 1024 rows");
  });
});

test('a context beyond the trained one is allowed, with a notice', () => {
  const plan = planBackends(model, [device('cpu', 60 * GB)], { ...request, context: 200_000 });
  expect(plan.context).toBe(200_000);
  expect(plan.reasons.at(-1)).toMatch(/131072/);
});

test('a context beyond memory: the error has the largest that fits, and it fits', () => {
  let message = '';
  try {
    planBackends(model, [device('cpu', 2 * GB)], { ...request, context: 100_000 });
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONTEXT_TOO_LARGE' });
    message = (error as Error).message;
  }
  const largest = Number(/largest context that fits is (\d+)/.exec(message)![1]);
  expect(planBackends(model, [device('cpu', 2 * GB)], { ...request, context: largest }).context).toBe(
    largest,
  );
  const next = () => planBackends(model, [device('cpu', 2 * GB)], { ...request, context: largest + 1 });
  expect(codeOf(next)).toBe('CONTEXT_TOO_LARGE');
});

test('sequences share the cache', () => {
  const plan = planBackends(model, [device('cpu', 8 * GB)], { ...request, context: 2048, sequences: 4 });
  expect(plan.memory.cache).toBe(4 * 2048 * perToken);
});

test('a context beyond memory for several sequences: the error has their number', () => {
  const asked = { ...request, context: 100_000, sequences: 3 };
  expect(() => planBackends(model, [device('cpu', 4 * GB)], asked)).toThrow(
    /^a context of 100000 for each of 3 sequences takes /,
  );
});

test('an int8 cache includes its scales', () => {
  const plan = planBackends(model, [device('cpu', 8 * GB)], {
    ...request,
    context: 2048,
    cacheDtype: 'int8',
  });
  expect(plan.memory.cache).toBe(2048 * 2 * 16 * 8 * (64 + 4));
});

test('weights beyond memory', () => {
  expect(codeOf(() => planBackends(model, [device('cpu', 0.8 * GB)], request))).toBe('MODEL_TOO_LARGE');
});

test('too little memory on the first device: the next one, with the reason', () => {
  const devices = [device('cuda', 0.5 * GB), device('cpu', 8 * GB)];
  const plan = planBackends(model, devices, request);
  expect(plan.ranges[0]!.backend).toBe('cpu');
  expect(plan.reasons[0]).toMatch(/rejected: .*'cuda'/);
});

test('the plan has the reason for the device', () => {
  const reasonOf = (devices: PlannerDevice[], named: boolean) =>
    planBackends(model, devices, { ...request, named }).reasons[0];
  const one = device('cpu', 8 * GB);
  expect(reasonOf([one], true)).toMatch(/the backend asked for$/);
  expect(reasonOf([one], false)).toMatch(/the only backend that loads$/);
  expect(reasonOf([one, device('other', 8 * GB)], false)).toMatch(/the fastest by measurement that fits$/);
});

test('byte counts have readable units', () => {
  expect([12, 1.536e9, 9.996e5, 3.28e16].map(showBytes)).toEqual([
    '12 bytes',
    '1.54 GB',
    '1000 kB',
    '32.8 PB',
  ]);
});

test('no device', () => {
  expect(codeOf(() => planBackends(model, [], request))).toBe('NO_BACKEND');
});

test('the arguments are not changed', () => {
  const devices = Object.freeze([Object.freeze(device('cpu', 8 * GB))]);
  expect(planBackends(Object.freeze(model), devices, Object.freeze(request))).toEqual(
    planBackends(model, [device('cpu', 8 * GB)], request),
  );
});
