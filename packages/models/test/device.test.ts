// Every architecture on a device with its own memory: equal to the reference backend.
import { createBackend as createReference } from '@quern/backend-reference';
import { type Backend, contiguousKvCache, defineBackend, inputBatch } from '@quern/core';
import { testDevice } from '../../conformance/test/device/driver.js';
import {
  loadEncoder,
  loadLanguageModel,
  loadWhisper,
  makeSyntheticEncoder,
  makeSyntheticSpeechModel,
  openEncoderFile,
  openModelFile,
  openSpeechModel,
} from '../src/index.js';
import { scratch, writeLlama } from './model-files.js';
import { randomParameters, type Shapes, withLayers, writeFolder } from './random-folder.js';
import { sequenceLogits } from './run-model.js';

const [V, D, heads, kvHeads, d, F, layers] = [29, 16, 2, 1, 6, 24, 2];

const config = {
  architectures: ['Qwen3ForCausalLM'],
  model_type: 'qwen3',
  hidden_size: D,
  intermediate_size: F,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: kvHeads,
  head_dim: d,
  vocab_size: V,
  max_position_embeddings: 32,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  attention_bias: false,
  use_sliding_window: false,
  tie_word_embeddings: false,
  hidden_act: 'silu',
};

const experts = 4;
const sparse = {
  architectures: ['Qwen3MoeForCausalLM'],
  model_type: 'qwen3_moe',
  moe_intermediate_size: 10,
  num_experts: experts,
  num_experts_per_tok: 2,
  norm_topk_prob: true,
  decoder_sparse_step: 1,
  mlp_only_layers: [],
};

const layer: Shapes = {
  'model.layers.{i}.input_layernorm.weight': [D],
  'model.layers.{i}.self_attn.q_proj.weight': [heads * d, D],
  'model.layers.{i}.self_attn.k_proj.weight': [kvHeads * d, D],
  'model.layers.{i}.self_attn.v_proj.weight': [kvHeads * d, D],
  'model.layers.{i}.self_attn.o_proj.weight': [D, heads * d],
  'model.layers.{i}.self_attn.q_norm.weight': [d],
  'model.layers.{i}.self_attn.k_norm.weight': [d],
  'model.layers.{i}.post_attention_layernorm.weight': [D],
};

const dense: Shapes = {
  'model.layers.{i}.mlp.gate_proj.weight': [F, D],
  'model.layers.{i}.mlp.up_proj.weight': [F, D],
  'model.layers.{i}.mlp.down_proj.weight': [D, F],
};

const mixture: Shapes = {
  'model.layers.{i}.mlp.gate.weight': [experts, D],
  ...Object.fromEntries(
    Array.from({ length: experts }, (_, e) => [
      [`model.layers.{i}.mlp.experts.${e}.gate_proj.weight`, [10, D]],
      [`model.layers.{i}.mlp.experts.${e}.up_proj.weight`, [10, D]],
      [`model.layers.{i}.mlp.experts.${e}.down_proj.weight`, [D, 10]],
    ]).flat(),
  ),
};

const ends: Shapes = {
  'model.embed_tokens.weight': [V, D],
  'model.norm.weight': [D],
  'lm_head.weight': [V, D],
};

const folder = (name: string, own: object, feedForward: Shapes) =>
  writeFolder(
    name,
    { ...config, ...own },
    randomParameters(withLayers(ends, { ...layer, ...feedForward }, layers)),
  );

let device: Backend;
let reference: Backend;
beforeAll(async () => {
  device = defineBackend(await testDevice());
  reference = await createReference();
});
afterAll(() => {
  device.dispose();
  reference.dispose();
});

/** Runs on both backends and compares the results. */
async function needClose(run: (backend: Backend) => Promise<ArrayLike<number>>): Promise<void> {
  const [got, want] = [await run(device), await run(reference)];
  expect(got).toHaveLength(want.length);
  let furthest = 0;
  for (let i = 0; i < want.length; i++) furthest = Math.max(furthest, Math.abs(got[i]! - want[i]!));
  expect(furthest).toBeLessThan(1e-4); // fails for NaN too
}

describe.each([
  ['Llama', () => writeLlama('device-llama.gguf')],
  ['Qwen3', async () => folder('device-qwen3', {}, dense)],
  ['Qwen3-MoE', async () => folder('device-qwen3-moe', sparse, mixture)],
])('%s', (_, write) => {
  test.each([8, 3])('logits of every position, in chunks of %d', async (chunk) => {
    const path = await write();
    await needClose(async (backend) => {
      using model = await loadLanguageModel(await openModelFile(path), backend);
      return (await sequenceLogits(model, [0, 3, 6, 1, 4, 7, 2, 5], chunk)).flat();
    });
  });
});

test('BERT: the embeddings of a batch', async () => {
  const path = scratch('device-bert.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32' });
  await needClose(async (backend) => {
    using model = await loadEncoder(await openEncoderFile(path), backend);
    using step = backend.step();
    const texts = [{ ids: [1, 5, 9, 2] }, { ids: [1, 7, 2] }];
    return await step.read(model.embed(step, texts));
  });
});

test('Whisper: one window of audio and one text', async () => {
  const path = scratch('device-whisper.gguf');
  await makeSyntheticSpeechModel(path, { shape: 'whisper-test', format: 'f32' });
  await needClose(async (backend) => {
    using model = await loadWhisper(await openSpeechModel(path), backend);
    const { encoder, decoder } = model.config;
    const [n, ids] = [encoder.context, [1, 4, 2]];
    const cache = (context: number) =>
      contiguousKvCache(backend, {
        ...{ layers: decoder.layers, kvHeads: decoder.heads, headDim: decoder.headDim },
        ...{ dtype: 'f32', context, sequences: 1 },
      });
    using text = cache(decoder.context);
    using sound = cache(n);
    const sequence = text.sequence();
    sequence.append(ids.length);
    using step = backend.step();
    const frames = Float32Array.from({ length: 2 * n * encoder.melBands }, (_, i) => Math.sin(i / 7));
    const positions = step.input(Int32Array.from({ length: n }, (_, i) => i));
    const window = { positions, cuSeqlens: step.input(Int32Array.of(0, n)) };
    const encoded = model.encode(step.input(frames, [2 * n, encoder.melBands]), window);
    model.decoder.listen(encoded, sound, positions);
    const batch = inputBatch(step, text.describe([{ sequence, rows: ids.length }]));
    const heard = {
      cuSeqlens: batch.cuSeqlens,
      kvLengths: step.input(Int32Array.of(n)),
      blockTable: step.input(Int32Array.of(0), [1, 1]),
    };
    const hidden = model.decoder.hidden(
      step.input(Int32Array.from(ids)),
      { text: batch, sound: heard },
      { text, sound },
    );
    return await step.read(model.decoder.logits(hidden));
  });
});
