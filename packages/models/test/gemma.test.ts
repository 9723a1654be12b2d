import { createBackend } from '@quern/backend-reference';
import { openGguf } from '@quern/quant';
import { cases } from '../../../test-scope.js';
import { loadLanguageModel, openModelFile } from '../src/index.js';
import { testedBackends } from './backends.js';
import { plainGemma } from './plain/gemma.js';
import { convertFolder, type Parameters, writeFolder } from './random-folder.js';
import { distance, sequenceLogits } from './run-model.js';
import {
  gemma2Config,
  gemma2Parameters,
  gemma2Sizes,
  gemma3Config,
  gemma3Parameters,
  gemma3Sizes,
} from './tiny-gemma.js';

const ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 19, 3];
const models = [
  { name: 'gemma2', config: gemma2Config, parameters: gemma2Parameters, sizes: gemma2Sizes },
  { name: 'gemma3', config: gemma3Config, parameters: gemma3Parameters, sizes: gemma3Sizes },
] as const;

const largest = (logits: readonly (readonly number[])[]) => Math.max(...logits.flat().map(Math.abs));

const tested = await testedBackends();

for (const { name: on, slack, open } of cases(tested, [tested[0]!, tested.at(-1)!]))
  describe(`the equations’ logits, on ${on}`, () => {
    test.each(models)('$name', async ({ name, config, parameters, sizes }) => {
      const expected = plainGemma(parameters, ids, sizes);
      const folder = writeFolder(name, config, parameters);
      using backend = await open();
      for (const path of [folder, await convertFolder(folder)]) {
        using model = await loadLanguageModel(await openModelFile(path), backend);
        expect(model.architecture).toBe(name);
        for (const chunk of [ids.length, 3]) {
          const logits = await sequenceLogits(model, ids, chunk);
          expect(distance(logits, expected)).toBeLessThan(slack * 1e-5 * largest(expected));
        }
      }
    });
  });

const opened = async (name: string, config: object, parameters: Parameters = gemma3Parameters) =>
  openModelFile(writeFolder(name, config, parameters));

test('every setting of the tiny models changes their logits', () => {
  for (const { parameters, sizes } of models) {
    const changes = [
      { window: 4 },
      { period: 3 },
      { queryScalar: 8 },
      { globalRotation: { ...sizes.globalRotation, theta: 5000 } },
      { localRotation: { ...sizes.localRotation, theta: 5000 } },
      ...(sizes.attentionCap ? [{ attentionCap: 1 }, { logitCap: 3 }] : []),
    ];
    const expected = plainGemma(parameters, ids, sizes);
    for (const change of changes)
      expect(distance(plainGemma(parameters, ids, { ...sizes, ...change }), expected)).toBeGreaterThan(1e-2);
  }
});

describe('config.json of Gemma', () => {
  test('transformers 5: RoPE per kind of layer, and a list of layer types', async () => {
    const {
      rope_theta: _theta,
      rope_local_base_freq: _local,
      rope_scaling: _scaling,
      ...rest
    } = gemma3Config;
    const newer = {
      ...rest,
      layer_types: Array.from({ length: 7 }, (_, i) => (i === 5 ? 'full_attention' : 'sliding_attention')),
      rope_parameters: {
        full_attention: { rope_type: 'linear', factor: 8, rope_theta: 1_000_000 },
        sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
      },
    };
    const [before, after] = [await opened('gemma-4', gemma3Config), await opened('gemma-5', newer)];
    expect(after.config).toEqual(before.config);
    expect(after.config).toMatchObject({
      windows: [5, 5, 5, 5, 5, 0, 5],
      rope: { theta: 1_000_000, scaling: { kind: 'linear', factor: 8 } },
      windowRope: { theta: 10_000 },
      attentionScale: 1 / Math.sqrt(10),
    });
  });

  test.each(['language_model.model.', 'model.language_model.'])(
    'the language model of a vision model: %s',
    async (prefix) => {
      const { architectures: _, ...text } = gemma3Config;
      const seeing = new Map(
        [...gemma3Parameters].map(([name, tensor]) => [name.replace('model.', prefix), tensor]),
      );
      seeing.set('vision_tower.patch.weight', { shape: [2], values: new Float32Array(2) });
      const config = { architectures: ['Gemma3ForConditionalGeneration'], text_config: text };
      const file = await opened(`gemma-${prefix}`, config, seeing);
      expect(file.config).toEqual((await opened('gemma-text', gemma3Config)).config);
      using backend = await createBackend();
      using model = await loadLanguageModel(file, backend);
      const expected = plainGemma(gemma3Parameters, ids, gemma3Sizes);
      expect(distance(await sequenceLogits(model, ids), expected)).toBeLessThan(1e-5 * largest(expected));
    },
  );

  test('absent settings have transformers’ defaults', async () => {
    const text = { hidden_size: 24, intermediate_size: 40, num_hidden_layers: 7 };
    const config = { architectures: ['Gemma3ForConditionalGeneration'], text_config: text };
    expect((await opened('gemma-defaults', config)).config).toMatchObject({
      heads: 8,
      kvHeads: 4,
      headDim: 256,
      vocabulary: 262_208,
      context: 131_072,
      windows: [4096, 4096, 4096, 4096, 4096, 0, 4096],
      attentionScale: 1 / 16,
      tied: true,
    });
  });

  test.each([
    [{ hidden_activation: 'silu' }, /hidden_activation is "silu": .* gelu_pytorch_tanh/],
    [{ use_bidirectional_attention: true }, /use_bidirectional_attention is true/],
    [{ layer_types: ['full_attention'] }, /layer_types .*7 times/],
    [{ query_pre_attn_scalar: 0 }, /query_pre_attn_scalar is 0; expected a number above 0/],
    [{ sliding_window_pattern: 0 }, /sliding_window_pattern is 0/],
  ])('%j is refused', async (changes, message) => {
    await expect(opened('gemma-bad', { ...gemma3Config, ...changes })).rejects.toThrow(message);
  });
});

describe('GGUF files of Gemma', () => {
  test('have llama.cpp’s names and keys', async () => {
    const { metadata, tensors } = await openGguf(
      await convertFolder(writeFolder('gemma-names', gemma3Config, gemma3Parameters)),
    );
    const key = (name: string) => metadata.get(`gemma3.${name}`);
    expect(metadata.get('general.architecture')).toBe('gemma3');
    expect(key('attention.sliding_window')).toBe(5);
    expect(key('attention.sliding_window_pattern')).toBe(6);
    expect(key('rope.freq_base')).toBe(1_000_000);
    expect(key('rope.freq_base_swa')).toBe(10_000);
    expect(key('rope.scaling.factor')).toBe(8);
    const first = tensors.map(({ name }) => name).filter((name) => name.startsWith('blk.0.'));
    expect(first.sort()).toEqual(
      [
        'attn_k',
        'attn_k_norm',
        'attn_norm',
        'attn_output',
        'attn_q',
        'attn_q_norm',
        'attn_v',
        'ffn_down',
        'ffn_gate',
        'ffn_norm',
        'ffn_up',
        'post_attention_norm',
        'post_ffw_norm',
      ].map((part) => `blk.0.${part}.weight`),
    );
  });

  test('without a period: a flag per layer', async () => {
    const types = [0, 1, 1, 0, 1, 1, 1].map((full) => (full ? 'full_attention' : 'sliding_attention'));
    const folder = writeFolder('gemma-flags', { ...gemma3Config, layer_types: types }, gemma3Parameters);
    const windows = (await openModelFile(await convertFolder(folder))).config.windows;
    expect(windows).toEqual([5, 0, 0, 5, 0, 0, 0]);
  });
});
