import { openGguf } from '@quern/quant';
import { cases } from '../../../test-scope.js';
import { describeModel, loadLanguageModel, openModelFile } from '../src/index.js';
import { testedBackends } from './backends.js';
import { decodedBytes, rewriteGguf, scratch } from './model-files.js';
import { plainPhi } from './plain/phi.js';
import { convertFolder, type Parameters, writeFolder } from './random-folder.js';
import { cacheFor, distance, sequenceLogits } from './run-model.js';
import {
  longSizes,
  phi3MiniConfig,
  phi3MiniParameters,
  phi3MiniSizes,
  phiConfig,
  phiParameters,
  shortSizes,
} from './tiny-phi.js';

const twelve = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8];
const sixteen = [...twelve, 9, 7, 19, 3];
const models = [
  { name: 'phi-4-mini, up to its original context', ids: twelve, context: 12, sizes: shortSizes },
  { name: 'phi-4-mini, a short text in a long cache', ids: twelve, context: 13, sizes: longSizes },
  { name: 'phi-4-mini, beyond its original context', ids: sixteen, context: 48, sizes: longSizes },
  {
    name: 'phi-3-mini',
    ids: sixteen,
    context: 16,
    sizes: phi3MiniSizes,
    config: phi3MiniConfig,
    parameters: phi3MiniParameters,
  },
];

const largest = (logits: readonly (readonly number[])[]) => Math.max(...logits.flat().map(Math.abs));

const tested = await testedBackends();

for (const { name: on, slack, open } of cases(tested, [tested[0]!, tested.at(-1)!]))
  describe(`the equations’ logits, on ${on}`, () => {
    test.each(models)(
      '$name',
      async ({ ids, context, sizes, config = phiConfig, parameters = phiParameters }) => {
        const expected = plainPhi(parameters, ids, sizes);
        const folder = writeFolder('phi', config, parameters);
        using backend = await open();
        for (const path of [folder, await convertFolder(folder)]) {
          using model = await loadLanguageModel(await openModelFile(path), backend);
          expect(model.architecture).toBe('phi3');
          for (const chunk of [ids.length, 5]) {
            const logits = await sequenceLogits(model, ids, chunk, cacheFor(model, context));
            expect(distance(logits, expected)).toBeLessThan(slack * 1e-5 * largest(expected));
          }
        }
      },
    );
  });

test('every setting of the tiny models changes their logits', () => {
  const expected = plainPhi(phiParameters, sixteen, longSizes);
  const rotation = longSizes.rotation;
  for (const change of [
    { window: 9 },
    { rotation: shortSizes.rotation },
    { rotation: { ...rotation, elements: 10 } },
    { rotation: { ...rotation, magnitude: 1 } },
  ])
    expect(distance(plainPhi(phiParameters, sixteen, { ...longSizes, ...change }), expected)).toBeGreaterThan(
      1e-3,
    );
});

const opened = async (config: object, parameters: Parameters = phiParameters) =>
  openModelFile(writeFolder('phi-opened', config, parameters));

describe('config.json of Phi-3', () => {
  test('LongRoPE’s factor on cos and sin: by the formula, or from the file', async () => {
    const { config } = await opened(phiConfig);
    expect(config).toMatchObject({
      context: 48,
      rope: {
        rotaryDim: 12,
        scaling: { kind: 'factors', attentionFactor: Math.sqrt(1 + Math.log(4) / Math.log(12)) },
      },
      shortRope: { context: 12, rope: { rotaryDim: 12 } },
    });
    const given = { ...phiConfig.rope_scaling, attention_factor: 1.25 };
    expect((await opened({ ...phiConfig, rope_scaling: given })).config.rope.scaling).toMatchObject({
      attentionFactor: 1.25,
    });
  });

  test('transformers 5: all settings in rope_parameters', async () => {
    const { rope_theta, partial_rotary_factor, original_max_position_embeddings, rope_scaling, ...rest } =
      phiConfig;
    const rope_parameters = {
      ...rope_scaling,
      rope_type: 'longrope',
      rope_theta,
      partial_rotary_factor,
      original_max_position_embeddings,
    };
    expect((await opened({ ...rest, rope_parameters })).config).toEqual((await opened(phiConfig)).config);
  });

  const scaling = phiConfig.rope_scaling;
  test.each([
    [{ hidden_act: 'gelu' }, /hidden_act is "gelu": .* silu/],
    [{ attention_bias: true }, /attention_bias is true/],
    [{ partial_rotary_factor: 2 }, /partial_rotary_factor is 2; expected a part of the head's 16/],
    [{ partial_rotary_factor: 0.7 }, /partial_rotary_factor is 0.7; .* even/],
    [{ partial_rotary_factor: 0.01 }, /partial_rotary_factor is 0.01/],
    [{ original_max_position_embeddings: 1 }, /original_max_position_embeddings is 1/],
    [{ rope_scaling: { type: 'longrope', short_factor: [1] } }, /long_factor is missing; expected 6 numbers/],
    [
      { rope_scaling: { ...scaling, long_factor: [1, 2, 3] } },
      /long_factor is \[1,2,3\]; expected 6 numbers/,
    ],
    [{ rope_scaling: { ...scaling, short_factor: [0, 1, 1, 1, 1, 1] } }, /short_factor is .*above 0/],
    [{ num_key_value_heads: 4 }, /qkv_proj.weight' must have shape \[192,64\] .* it has \[128,64\]/],
  ])('%j is refused', async (changes, message) => {
    const open = async () => describeModel(await opened({ ...phiConfig, ...changes }));
    await expect(open()).rejects.toThrow(message);
  });
});

describe('GGUF files of Phi-3', () => {
  test('have llama.cpp’s names, keys and fused tensors', async () => {
    const { metadata, tensors } = await openGguf(
      await convertFolder(writeFolder('phi-names', phiConfig, phiParameters)),
    );
    expect(metadata.get('general.architecture')).toBe('phi3');
    expect(metadata.get('phi3.rope.dimension_count')).toBe(12);
    expect(metadata.get('phi3.rope.scaling.original_context_length')).toBe(12);
    expect(metadata.get('phi3.rope.scaling.attn_factor')).toBeCloseTo(
      Math.sqrt(1 + Math.log(4) / Math.log(12)),
      6,
    );
    const shapes = new Map(tensors.map(({ name, shape }) => [name, shape]));
    expect(shapes.get('blk.2.attn_qkv.weight')).toEqual([128, 64]);
    expect(shapes.get('blk.2.ffn_up.weight')).toEqual([80, 64]);
    expect(shapes.get('rope_factors_long.weight')).toEqual([6]);
    expect(shapes.get('rope_factors_short.weight')).toEqual([6]);
    expect(tensors).toHaveLength(2 + 3 * 6 + 2);
  });

  test('with only one list of factors are refused', async () => {
    const path = await convertFolder(writeFolder('phi-one-list', phiConfig, phiParameters));
    const changed = scratch('phi-one-list-changed.gguf');
    await rewriteGguf(path, changed, (tensor) => ({
      ...tensor,
      name: tensor.name.replace('_short', '_other'),
      format: 'f32',
      data: decodedBytes(tensor),
    }));
    await expect(openModelFile(changed)).rejects.toThrow(/rope_factors_short.weight; it has 0/);
  });
});
