// Ranges of layers per device: by memory, by rates and links, by request; and refusals.
import type { DeviceProfile } from '@quern/core';
import type { ModelCosts, WeightCost } from '@quern/models';
import { type PlannedModel, type PlannerDevice, type PlanRequest, planBackends } from '../../src/index.js';

const layers = 10;
const GB = 1e9;
const nothing: WeightCost = { bytes: 0, perToken: 0, active: 0, inBlocks: 0 };

const model: PlannedModel = {
  architecture: 'llama',
  config: {
    layers,
    width: 1024,
    heads: 8,
    kvHeads: 8,
    headDim: 128,
    feedForward: 4096,
    vocabulary: 32_000,
    normEps: 1e-5,
    rope: { theta: 10_000, layout: 'interleaved' },
    context: 8192,
    windows: [],
    tied: true,
  },
};

/** Ten layers of 1 GB, and a tied embedding of 0.5 GB. */
const costs: ModelCosts = {
  layers: Array.from({ length: layers }, () => ({ bytes: GB, perToken: GB, active: 1e6, inBlocks: 0 })),
  embed: nothing,
  logits: nothing,
  both: { bytes: 0.5 * GB, perToken: 0.5 * GB, active: 1e6, inBlocks: 0 },
};

const links = { hostToDevice: 10 * GB, deviceToHost: 10 * GB };

const device = (
  backend: string,
  freeGB: number,
  profile: Partial<DeviceProfile> = {},
  more: Partial<PlannerDevice> = {},
): PlannerDevice => ({
  backend,
  freeMemory: freeGB * GB,
  costs,
  decoded: [],
  profile: {
    kind: 'gpu',
    name: 'made up',
    isa: 'one',
    threads: 1,
    totalMemory: 64 * GB,
    readBandwidth: 100 * GB,
    flops: 1e12,
    ...profile,
  },
  ...more,
});

const request: PlanRequest = { cacheDtype: 'f16', sequences: 1, prefillChunk: 512, context: 2048 };

const rangesOf = (devices: readonly PlannerDevice[], more: Partial<PlanRequest> = {}) =>
  planBackends(model, devices, { ...request, ...more }).ranges.map(
    ({ backend, firstLayer, endLayer }) => `${backend} ${firstLayer}-${endLayer - 1}`,
  );

const refusalOf = (devices: readonly PlannerDevice[], more: Partial<PlanRequest> = {}): string => {
  try {
    return rangesOf(devices, more).join();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code}: ${message}`;
  }
};

const gpu = (name: string, freeGB: number, bandwidth = 1000) =>
  device(name, freeGB, { links, readBandwidth: bandwidth * GB });
/** As a GPU of Apple: its memory is a part of the host's. */
const sharing = (name: string, freeGB: number) => device(name, freeGB, { links, sharesHostMemory: true });
const host = (name: string, freeGB: number, bandwidth = 50) =>
  device(name, freeGB, { kind: 'cpu', readBandwidth: bandwidth * GB });

describe('without a named backend', () => {
  test('a model that fits on the best device uses only this device', () => {
    expect(rangesOf([gpu('gpu', 16), host('cpu', 64)])).toEqual(['gpu 0-9']);
  });

  test('a model too large for every device: the fastest is filled', () => {
    // 8 GB less 1/16: the embedding, 6 layers, their cache and activations
    expect(rangesOf([gpu('gpu', 8), host('cpu', 10)])).toEqual(['gpu 0-5', 'cpu 6-9']);
  });

  test('as few devices as possible', () => {
    expect(rangesOf([gpu('a', 7), gpu('b', 7), host('cpu', 7)])).toHaveLength(2);
    expect(rangesOf([gpu('a', 5), gpu('b', 5), host('cpu', 5)])).toHaveLength(3);
  });

  test('devices in host memory share it: two have no more room than one', () => {
    expect(refusalOf([host('cpu', 8), host('other', 8)])).toMatch(
      /^MODEL_TOO_LARGE: the model is too large: 10.5 GB .*; no split over 'cpu', 'other' has the memory either$/,
    );
  });

  test('the plan: reasons, layers per device, memory, bytes copied', () => {
    const { reasons, memory, ranges, estimate } = planBackends(
      model,
      [gpu('gpu', 8), host('cpu', 10)],
      request,
    );
    expect(reasons).toEqual([
      expect.stringMatching(/^rejected: the model is too large: .*'gpu'/),
      expect.stringMatching(/^rejected: .*'cpu'/),
      "split over 'gpu', 'cpu': none of them holds the model alone",
      expect.stringMatching(
        /^layers 0-5 on 'gpu' .*: 6.50 GB of weights, 50.3 MB of cache, about 6.00 ms of each token$/,
      ),
      expect.stringMatching(
        /^layers 6-9 on 'cpu' .*: 4.50 GB of weights, 33.6 MB of cache, about 90.0 ms of each token$/,
      ),
      '4.10 kB of hidden state per token go through host memory between two parts',
      'context 2048, as asked',
    ]);
    expect(memory.weights).toBe(11 * GB); // the embedding counts twice
    expect(ranges.map((range) => range.memory.weights)).toEqual([6.5 * GB, 4.5 * GB]);
    expect(memory.available).toBe(18 * GB);
    expect(estimate.decodeTokensPerSecond).toBeCloseTo(1 / (0.006 + 0.09 + 4096 / 10e9), 6);
  });

  test('the context is limited by the split’s memory', () => {
    const { context } = planBackends(model, [gpu('gpu', 8), host('cpu', 4.9)], {
      ...request,
      context: undefined,
    });
    expect(context).toBeGreaterThan(0);
    expect(context).toBeLessThan(4096);
  });

  test('a default context moves no layers, but takes half of the memory that is left', () => {
    const long = { ...model, config: { ...model.config, context: 1_000_000 } };
    const devices = [gpu('gpu', 8), host('cpu', 30)];
    const { ranges, context } = planBackends(long, devices, { ...request, context: undefined });
    const asked = planBackends(long, devices, { ...request, context: 4096 });
    const layersOf = (list: typeof ranges) => list.map(({ firstLayer, endLayer }) => [firstLayer, endLayer]);
    expect(layersOf(ranges)).toEqual(layersOf(asked.ranges));
    expect(context).toBeGreaterThan(4096);
    const left = ranges.map(
      ({ memory: { available, weights, activations } }) => (15 / 16) * available - weights - activations,
    );
    ranges.forEach(({ memory: { cache } }, i) => expect(cache).toBeLessThanOrEqual(left[i]! / 2));
    expect(Math.max(...ranges.map(({ memory: { cache } }, i) => cache / left[i]!))).toBeCloseTo(1 / 2, 3);
  });
});

describe('several named backends', () => {
  const named = true;

  test('each computes at least one layer, the fastest all others', () => {
    expect(rangesOf([host('slow', 64), host('fast', 64, 200)], { named })).toEqual(['slow 0-0', 'fast 1-9']);
    expect(rangesOf([host('fast', 64, 200), host('slow', 64)], { named })).toEqual(['fast 0-8', 'slow 9-9']);
  });

  test('a GPU that may take a part of the host memory leaves the rest to the CPU', () => {
    const devices = [sharing('shared', 10.6), host('cpu', 13)];
    const { ranges, memory } = planBackends(model, devices, { ...request, named });
    expect(ranges.map(({ backend }) => backend)).toEqual(['shared', 'cpu']);
    expect(memory.available).toBe(13 * GB);
    expect(refusalOf([sharing('shared', 8), host('cpu', 9)], { named })).toMatch(
      /^MODEL_TOO_LARGE: no split/,
    );
  });

  test('slow arithmetic makes a device slow, whatever its memory rate', () => {
    const wide = device('wide', 64, { links, readBandwidth: 1000 * GB, flops: 1e7 });
    expect(rangesOf([wide, host('cpu', 64)], { named })).toEqual(['wide 0-0', 'cpu 1-9']);
  });

  test('a slow link decides between equal splits; the plan has the time of a copy', () => {
    const slowLink = { hostToDevice: 1e6, deviceToHost: 1e6 };
    const [near, far] = [gpu('a', 64), device('b', 64, { links: slowLink, readBandwidth: 1000 * GB })];
    const speedOf = (second: PlannerDevice) =>
      planBackends(model, [near, second], { ...request, named }).estimate.decodeTokensPerSecond;
    expect(1 / speedOf(far) - 1 / speedOf(gpu('b', 64))).toBeCloseTo(4096 / 1e6, 4);
  });

  test('too many backends, too little memory, too long a context', () => {
    const many = Array.from({ length: 11 }, (_, i) => gpu(`g${i}`, 64));
    expect(refusalOf(many, { named })).toMatch(
      /^BAD_OPTION: 11 backends are named .* the model has 10 layers: name 10 at most$/,
    );
    expect(refusalOf([gpu('a', 3), host('cpu', 3)], { named })).toMatch(
      /^MODEL_TOO_LARGE: no split of the 10 layers over 'a', 'cpu' has the memory: all layers take 10.6 GB on 'a', which has 3.00 GB free; all layers/,
    );
    const [, largest] = /largest context that fits is (\d+)$/.exec(
      refusalOf([gpu('a', 8), host('cpu', 4.9)], { named, context: 8192 }),
    )!;
    const most = { named, context: Number(largest) };
    expect(rangesOf([gpu('a', 8), host('cpu', 4.9)], most)).toHaveLength(2);
  });

  test('eight devices of eighty layers are planned at once', () => {
    const deep: PlannedModel = { ...model, config: { ...model.config, layers: 80 } };
    const many = { ...costs, layers: Array.from({ length: 80 }, () => costs.layers[0]!) };
    const devices = Array.from({ length: 8 }, (_, i) => device(`g${i}`, 12, { links }, { costs: many }));
    const { ranges } = planBackends(deep, devices, { ...request, named });
    expect(ranges).toHaveLength(8);
    expect(ranges.at(-1)!.endLayer).toBe(80);
  });
});

describe('requested ranges', () => {
  const two = [host('cpu', 64), host('other', 64)];
  const asked = (...ranges: readonly [number, number][]) => ({
    named: true,
    ranges: ranges.map(([from, to]) => ({ from, to })),
  });

  test('are used', () => {
    expect(rangesOf(two, asked([0, 3], [3, 10]))).toEqual(['cpu 0-2', 'other 3-9']);
  });

  test.each([
    [asked([0, 3], [4, 10]), 'BAD_OPTION: the split 0-2,4-9 is not possible: layer 3 is in no range'],
    [
      asked([0, 3], [2, 10]),
      'BAD_OPTION: the split 0-2,2-9 is not possible: the range 2-9 overlaps the range before it, which ends at 2',
    ],
    [
      asked([0, 3], [3, 12]),
      "BAD_OPTION: the split 0-2,3-11 is not possible: the range 3-11 goes beyond the model's layers, 0-9",
    ],
    [
      asked([0, 10]),
      "BAD_OPTION: the split 0-9 has 1 ranges for 2 backends ('cpu', 'other'): give one range for each",
    ],
  ])('are refused: %#', (more, expected) => {
    expect(refusalOf(two, more)).toBe(expected);
  });

  test('a device without the format: decoded size, reason, and advice', () => {
    const eightfold = costs.layers.map((layer) => ({ ...layer, bytes: 8 * layer.bytes }));
    const decoding = device(
      'slow',
      30,
      { links },
      { costs: { ...costs, layers: eightfold }, decoded: ['q4_k'] },
    );
    expect(refusalOf([host('cpu', 64), decoding], asked([0, 6], [6, 10]))).toMatch(
      /^MODEL_TOO_LARGE: too large for 'slow', layers 6-9: 32.5 GB of weights .* 30.0 GB that are free on 'slow' .*\(it does not read q4_k, so these weights are decoded: a format that it reads, or a backend that reads these, takes less\)$/,
    );
    expect(rangesOf([host('cpu', 64), decoding], asked([0, 7], [7, 10]))).toHaveLength(2);
  });

  test('backends in host memory share it', () => {
    expect(refusalOf([host('cpu', 8), host('other', 8)], asked([0, 5], [5, 10]))).toMatch(
      /^MODEL_TOO_LARGE: the parts 0-4,5-9 take .* of the host's memory together, but only 7.50 GB may be used: these backends share it, so a split gains no room$/,
    );
  });

  test('a GPU that may take a part of the host memory takes no more', () => {
    const [shared, cpu] = [sharing('shared', 10.6), host('cpu', 13)];
    expect(rangesOf([shared, cpu], asked([0, 6], [6, 10]))).toEqual(['shared 0-5', 'cpu 6-9']);
    expect(refusalOf([sharing('shared', 5), cpu], asked([0, 6], [6, 10]))).toMatch(
      /^MODEL_TOO_LARGE: .*'shared', layers 0-5/,
    );
    expect(refusalOf([sharing('shared', 8), host('cpu', 9)], asked([0, 5], [5, 10]))).toMatch(
      /^MODEL_TOO_LARGE: the parts 0-4,5-9 take .* but only 8.44 GB may be used/,
    );
  });

  test('a context too large for one part: the error names the part', () => {
    expect(
      refusalOf([host('cpu', 64), gpu('gpu', 5)], { ...asked([0, 6], [6, 10]), context: 8192 * 8 }),
    ).toMatch(/^CONTEXT_TOO_LARGE: .*'gpu' has 5.00 GB free: the largest context that fits is \d+$/);
  });
});
