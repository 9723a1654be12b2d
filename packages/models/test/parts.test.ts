// One model on several backends: equal bits; each backend holds only the weights of its layers.
import { createBackend, referenceDriver } from '@quern/backend-reference';
import { type Backend, contiguousKvCache, defineBackend, inputBatch, type KvCache } from '@quern/core';
import { writeGguf } from '@quern/quant';
import { type LanguageModel, loadLanguageModel, openModelFile, type PartPlace } from '../src/index.js';
import { llamaMetadata, llamaTensors, scratch, writeLlama } from './model-files.js';
import { kvOptions, sequenceLogits } from './run-model.js';

const ids = [3, 1, 4, 1, 5, 9];
const tied = llamaTensors().filter(({ name }) => name !== 'output.weight');

/** A reference backend that records the names of loaded and freed weights. */
function watched(): { backend: Backend; loaded: string[]; freed: string[] } {
  const [loaded, freed]: [string[], string[]] = [[], []];
  const driver = referenceDriver();
  const names = new Map<number, string>();
  const backend = defineBackend({
    ...driver,
    async loadWeight(source) {
      const weight = await driver.loadWeight(source);
      loaded.push(source.name);
      names.set(weight.id, source.name);
      return weight;
    },
    freeWeight(weight) {
      freed.push(names.get(weight.id)!);
      driver.freeWeight(weight);
    },
  });
  return { backend, loaded, freed };
}

/** The logits of every position: one step per part, with copies of the residual stream between parts. */
async function logitsOfParts(model: LanguageModel, cache: KvCache): Promise<number[][]> {
  const sequence = cache.sequence();
  sequence.append(ids.length);
  const arrays = cache.describe([{ sequence, rows: ids.length }]);
  const { width, vocabulary } = model.config;
  let stream: Float32Array | undefined;
  for (const part of model.parts) {
    using step = part.backend.step();
    const x = stream ? step.input(stream, [ids.length, width]) : step.input(Int32Array.from(ids));
    const y = part.forward(x, inputBatch(step, arrays), cache);
    const output = part === model.parts.at(-1) ? model.logits(y) : y;
    stream = Float32Array.from((await step.read(output)) as Float32Array);
  }
  return ids.map((_, t) => [...stream!.subarray(t * vocabulary, (t + 1) * vocabulary)]);
}

const cacheOf = ({ config, parts }: LanguageModel): KvCache =>
  contiguousKvCache(
    parts.flatMap(({ backend, from, to }) => Array.from({ length: to - from }, () => backend)),
    { ...kvOptions(config, ids.length), sequences: 1 },
  );

describe.each([
  [
    'an output projection',
    'parts.gguf',
    undefined,
    ['token_embd.weight'],
    ['output_norm.weight', 'output.weight'],
  ],
  ['a tied embedding', 'tied.gguf', tied, ['token_embd.weight'], ['token_embd.weight', 'output_norm.weight']],
] as const)('with %s', (_, name, tensors, first, last) => {
  test('two parts equal one, bit for bit; each backend loads only its weights', async () => {
    const file = await openModelFile(await writeLlama(name, tensors ? { tensors } : {}));
    using whole = await createBackend();
    using expected = await loadLanguageModel(file, whole);
    const [a, b] = [watched(), watched()];
    const places = [
      { backend: a.backend, from: 0, to: 1 },
      { backend: b.backend, from: 1, to: 2 },
    ];
    const progress: number[] = [];
    const onProgress = ({ done, total }: { done: number; total: number }) => progress.push(done / total);
    const model = await loadLanguageModel(file, places, { onProgress });
    expect(progress).toEqual([...progress].sort((x, y) => x - y));
    expect(progress.at(-1)).toBe(1);

    using cache = cacheOf(model);
    expect(await logitsOfParts(model, cache)).toEqual(await sequenceLogits(expected, ids));
    const ofLayers = (names: readonly string[]) => names.filter((weight) => weight.startsWith('blk.'));
    const ofModel = (names: readonly string[]) => names.filter((weight) => !weight.startsWith('blk.'));
    expect(ofModel(a.loaded).sort()).toEqual([...first].sort());
    expect(ofModel(b.loaded).sort()).toEqual([...last].sort());
    expect(ofLayers(a.loaded).every((weight) => weight.startsWith('blk.0.'))).toBe(true);
    expect(ofLayers(b.loaded).every((weight) => weight.startsWith('blk.1.'))).toBe(true);
    expect(ofLayers(a.loaded)).toHaveLength(ofLayers(b.loaded).length);

    model.dispose();
    for (const { loaded, freed, backend } of [a, b]) {
      expect([...freed].sort()).toEqual([...loaded].sort());
      backend.dispose();
    }
  });
});

test('a table that the layers read is loaded for every part', async () => {
  const known = Object.entries(llamaMetadata).map(([key, value]) => [
    key.replace('llama.', 'mistral3.'),
    value,
  ]);
  const path = scratch('ministral.gguf');
  await writeGguf(path, {
    metadata: {
      ...Object.fromEntries(known),
      'general.architecture': 'mistral3',
      'mistral3.attention.temperature_scale': { type: 'float32', value: 0.5 },
      'mistral3.rope.scaling.type': 'yarn',
      'mistral3.rope.scaling.factor': { type: 'float32', value: 4 },
      'mistral3.rope.scaling.original_context_length': 2,
    },
    tensors: llamaTensors(),
  });
  const file = await openModelFile(path);
  using whole = await createBackend();
  using expected = await loadLanguageModel(file, whole);
  const [a, b] = [watched(), watched()];
  const places = [
    { backend: a.backend, from: 0, to: 1 },
    { backend: b.backend, from: 1, to: 2 },
  ];
  using model = await loadLanguageModel(file, places);
  using cache = cacheOf(model);
  expect(await logitsOfParts(model, cache)).toEqual(await sequenceLogits(expected, ids));
  for (const { loaded } of [a, b]) expect(loaded).toContain('temperatures');
});

test('missing, overlapping or invalid ranges are refused before loading', async () => {
  const file = await openModelFile(await writeLlama('ranges.gguf'));
  const { backend, loaded } = watched();
  const refused = async (...ranges: readonly [number, number][]) => {
    const places: PartPlace[] = ranges.map(([from, to]) => ({ backend, from, to }));
    return loadLanguageModel(file, places).then(
      () => 'loaded',
      ({ code, message }: { code: string; message: string }) => `${code} ${message}`,
    );
  };
  const at = 'BAD_ARGUMENT [loadLanguageModel] places:';
  expect(await refused([0, 1])).toBe(`${at} layer 1 is in no range`);
  expect(await refused()).toBe(`${at} layers 0-1 are in no range`);
  expect(await refused([0, 2], [1, 2])).toBe(
    `${at} the range 1 overlaps the range before it, which ends at 1`,
  );
  expect(await refused([0, 3])).toBe(`${at} the range 0-2 goes beyond the model's layers, 0-1`);
  expect(await refused([0, 0], [0, 2])).toBe(
    `${at} a range has whole numbers 0 ≤ from < to; got from 0 to 0`,
  );
  expect(loaded).toEqual([]);
  backend.dispose();
});

test('a failure at the second part frees the first part', async () => {
  const file = await openModelFile(await writeLlama('failing.gguf'));
  const first = watched();
  const driver = referenceDriver();
  using second = defineBackend({
    ...driver,
    loadWeight: () => {
      throw new Error('no power');
    },
  });
  const places = [
    { backend: first.backend, from: 0, to: 1 },
    { backend: second, from: 1, to: 2 },
  ];
  await expect(loadLanguageModel(file, places)).rejects.toMatchObject({ code: 'DEVICE_FAILED' });
  expect(first.loaded.length).toBeGreaterThan(0);
  expect([...first.freed].sort()).toEqual([...first.loaded].sort());
  first.backend.dispose();
});

test('no single step for two parts; a cache of another backend is refused', async () => {
  const file = await openModelFile(await writeLlama('others.gguf'));
  using a = await createBackend();
  using b = await createBackend();
  using model = await loadLanguageModel(file, [
    { backend: a, from: 0, to: 1 },
    { backend: b, from: 1, to: 2 },
  ]);
  using onA = contiguousKvCache(a, { ...kvOptions(model.config, ids.length), sequences: 1 });
  using step = a.step();
  expect(() => model.forward(step.input(Int32Array.of(1)), inputBatch(step, onA.describe([])), onA)).toThrow(
    expect.objectContaining({ code: 'BAD_ARGUMENT' }),
  );
  await expect(logitsOfParts(model, onA)).rejects.toMatchObject({
    code: 'WRONG_STEP',
    message: '[kvAppend] kCache belongs to another backend',
  });
  expect(() => contiguousKvCache([a], { ...kvOptions(model.config, ids.length), sequences: 1 })).toThrow(
    'a cache of 2 layers needs one backend for all, or 2; got 1',
  );
});
