import { createBackend } from '@quern/backend-reference';
import { type RopeOptions, ropeFrequencies } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import { ownValue } from '../src/config/settings.js';
import { llama, loadLanguageModel, mistral, openModelFile, qwen2, qwen3, Settings } from '../src/index.js';
import { llamaTensors, writeLlama } from './model-files.js';
import { distance, sequenceLogits } from './run-model.js';

const small = {
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 4,
  num_attention_heads: 4,
  vocab_size: 16,
  max_position_embeddings: 64,
};
const weights = { naming: 'huggingFace', paths: ['m.safetensors'], tensors: new Map() } as const;
const fromJson = (architecture: typeof llama | typeof mistral | typeof qwen2 | typeof qwen3, json: object) =>
  architecture.configFromHuggingFace({
    settings: new Settings('config.json', ownValue({ ...small, ...json })),
    weights,
  });
const fromGguf = async (
  name: string,
  metadata: Record<string, MetadataInput | undefined> = {},
  extra = llamaTensors(),
) => (await openModelFile(await writeLlama(name, { metadata, tensors: extra }))).config;

describe('config.json', () => {
  test('sizes, and defaults of absent settings', () => {
    expect(fromJson(llama, {})).toEqual({
      layers: 4,
      width: 32,
      heads: 4,
      kvHeads: 4,
      headDim: 8,
      feedForward: 64,
      vocabulary: 16,
      normEps: 1e-6,
      rope: { theta: 10_000, layout: 'halves' },
      context: 64,
      windows: [0, 0, 0, 0],
      tied: true,
    });
  });

  test.each<[string, object, Partial<RopeOptions>]>([
    ['default', { rope_parameters: { rope_type: 'default', rope_theta: 5e5 } }, { theta: 5e5 }],
    ['linear', { rope_scaling: { type: 'linear', factor: 4 } }, { scaling: { kind: 'linear', factor: 4 } }],
    ['dynamic', { rope_scaling: { type: 'dynamic', factor: 4 } }, {}],
    [
      'llama3',
      {
        rope_theta: 5e5,
        rope_scaling: {
          rope_type: 'llama3',
          factor: 8,
          low_freq_factor: 1,
          high_freq_factor: 4,
          original_max_position_embeddings: 8192,
        },
      },
      {
        theta: 5e5,
        scaling: {
          kind: 'llama3',
          factor: 8,
          lowFrequencyFactor: 1,
          highFrequencyFactor: 4,
          originalContext: 8192,
        },
      },
    ],
    [
      'yarn',
      { rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 } },
      { scaling: { kind: 'yarn', factor: 4, originalContext: 32, betaFast: 32, betaSlow: 1 } },
    ],
    [
      'yarn whose ramp is not rounded',
      {
        rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32, truncate: false },
      },
      {
        scaling: { kind: 'yarn', factor: 4, originalContext: 32, betaFast: 32, betaSlow: 1, truncate: false },
      },
    ],
    [
      'yarn with its own magnitude',
      { rope_scaling: { type: 'yarn', factor: 2, attention_factor: 1.5, beta_fast: 16 } },
      {
        scaling: {
          kind: 'yarn',
          factor: 2,
          originalContext: 64,
          betaFast: 16,
          betaSlow: 1,
          attentionFactor: 1.5,
        },
      },
    ],
  ])('rope: %s', (_name, json, rope) => {
    expect(fromJson(llama, json).rope).toEqual({ theta: 10_000, layout: 'halves', ...rope });
  });

  test('yarn extends the context', () => {
    const json = { rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 } };
    expect(fromJson(llama, json).context).toBe(128);
  });

  test('Mistral: a window in every layer, from the file, by default, or none', () => {
    expect(fromJson(mistral, { sliding_window: 7 }).windows).toEqual([7, 7, 7, 7]);
    expect(fromJson(mistral, {}).windows).toEqual([4096, 4096, 4096, 4096]);
    expect(fromJson(mistral, { sliding_window: null }).windows).toEqual([0, 0, 0, 0]);
  });

  test('Qwen: a window in some layers, if use_sliding_window', () => {
    const sliding = { use_sliding_window: true, sliding_window: 7 };
    expect(fromJson(qwen2, { ...sliding, use_sliding_window: false }).windows).toEqual([0, 0, 0, 0]);
    expect(fromJson(qwen2, { ...sliding, max_window_layers: 3 }).windows).toEqual([0, 0, 0, 7]);
    const types = ['full_attention', 'sliding_attention', 'full_attention', 'sliding_attention'];
    expect(fromJson(qwen3, { ...sliding, layer_types: types }).windows).toEqual([0, 7, 0, 7]);
    expect(() => fromJson(qwen3, { ...sliding, layer_types: types.slice(1) })).toThrow(
      /layer_types.*4 times/,
    );
  });

  test('tied output: by the flag, else by the file’s tensors', () => {
    const tensor = {
      name: 'lm_head.weight',
      shape: [16, 32],
      format: 'f32',
      bytes: { path: 'm', offset: 0, byteLength: 2048 },
    };
    const withHead = { ...weights, tensors: new Map([[tensor.name, tensor]]) };
    const tied = (json: object, file: typeof withHead | typeof weights) =>
      llama.configFromHuggingFace({
        settings: new Settings('config.json', ownValue({ ...small, ...json })),
        weights: file,
      }).tied;
    expect(tied({}, withHead)).toBe(false);
    expect(tied({ tie_word_embeddings: true }, withHead)).toBe(true);
    expect(tied({ tie_word_embeddings: false }, weights)).toBe(false);
  });
});

describe('GGUF metadata', () => {
  test('sizes; without output tensor the output is tied', async () => {
    const tensors = llamaTensors().filter(({ name }) => name !== 'output.weight');
    expect(await fromGguf('tied.gguf', {}, tensors)).toEqual({
      layers: 2,
      width: 32,
      heads: 4,
      kvHeads: 2,
      headDim: 8,
      feedForward: 64,
      vocabulary: 16,
      normEps: expect.closeTo(1e-5, 10),
      rope: { theta: 10_000, rotaryDim: 8, layout: 'interleaved' },
      context: 64,
      windows: [0, 0],
      tied: true,
    });
  });

  test('scaling: none, linear, its old key, yarn', async () => {
    const scaling = async (name: string, metadata: Record<string, MetadataInput>) =>
      (await fromGguf(name, metadata)).rope.scaling;
    expect(
      await scaling('none.gguf', { 'llama.rope.scaling.type': 'none', 'llama.rope.scaling.factor': 4 }),
    ).toBeUndefined();
    expect(
      await scaling('linear.gguf', { 'llama.rope.scaling.type': 'linear', 'llama.rope.scaling.factor': 4 }),
    ).toEqual({ kind: 'linear', factor: 4 });
    expect(await scaling('old.gguf', { 'llama.rope.scale_linear': 2 })).toEqual({
      kind: 'linear',
      factor: 2,
    });
    const yarn = {
      'llama.rope.scaling.type': 'yarn',
      'llama.rope.scaling.factor': 4,
      'llama.rope.scaling.original_context_length': 16,
    };
    expect(await scaling('yarn.gguf', yarn)).toEqual({
      kind: 'yarn',
      factor: 4,
      originalContext: 16,
      betaFast: 32,
      betaSlow: 1,
      attentionFactor: 0.1 * Math.log(4) + 1,
    });
  });

  test('a window for every layer; a list with equal numbers per layer', async () => {
    const config = await fromGguf('window.gguf', {
      'llama.attention.sliding_window': 5,
      'llama.attention.head_count_kv': Int32Array.of(2, 2),
    });
    expect(config.windows).toEqual([5, 5]);
    expect(config.kvHeads).toBe(2);
  });

  test('the tensor rope_freqs holds Llama 3’s scaling', async () => {
    const llama3 = {
      kind: 'llama3',
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalContext: 16,
    } as const;
    const plain = ropeFrequencies({ theta: 10_000, layout: 'halves' }, 8).frequencies;
    const scaled = ropeFrequencies({ theta: 10_000, layout: 'halves', scaling: llama3 }, 8).frequencies;
    const factors = plain.map((frequency, i) => frequency / scaled[i]!);
    const tensor = {
      name: 'rope_freqs.weight',
      shape: [4],
      format: 'f32',
      data: new Uint8Array(factors.buffer),
    } as const;
    const config = await fromGguf('llama3.gguf', {}, [...llamaTensors(), tensor]);
    expect(config.rope.scaling).toEqual({ kind: 'factors', factors: Array.from(factors) });
    expect(Array.from(ropeFrequencies(config.rope, 8).frequencies)).toEqual(
      Array.from(scaled, (f) => expect.closeTo(f, 6)),
    );
    expect(new Set(factors).size).toBeGreaterThan(1);
  });
});

test('a window hides exactly the positions before it', async () => {
  using backend = await createBackend();
  const load = async (name: string, window?: number) =>
    loadLanguageModel(
      await openModelFile(await writeLlama(name, { metadata: { 'llama.attention.sliding_window': window } })),
      backend,
    );
  using all = await load('all.gguf');
  using windowed = await load('windowed.gguf', 3);
  const ids = [1, 2, 3, 4, 5, 6, 7, 8];
  const [full, cut] = [await sequenceLogits(all, ids), await sequenceLogits(windowed, ids)];
  expect(distance(full.slice(0, 3), cut.slice(0, 3))).toBe(0);
  expect(distance(full.slice(3), cut.slice(3))).toBeGreaterThan(1e-3);
  const other = await sequenceLogits(windowed, [9, ...ids.slice(1)]); // two layers reach 2 · (3 − 1) = 4 positions back
  expect(distance(other.slice(5), cut.slice(5))).toBe(0);
  expect(distance(other.slice(4, 5), cut.slice(4, 5))).toBeGreaterThan(0);
});

test('lists of whole numbers: the arguments of `whole`, in the same order', () => {
  const settings = new Settings('config.json', ownValue({ layers: [0, 3], odd: [1.5] }));
  expect(settings.wholes('layers', 3, [], 0)).toEqual([0, 3]);
  expect(settings.wholes('absent', 3, [2])).toEqual([2]);
  expect(settings.wholes('absent', 3)).toBeUndefined();
  expect(() => settings.wholes('layers', 3)).toThrow('layers is [0,3]; expected whole numbers from 1 to 3');
  expect(() => settings.wholes('odd', 3, [])).toThrow('odd is [1.5]');
});
