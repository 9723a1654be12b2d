// Routers beyond softmax, shared experts, dense first layers and layers for further tokens.
import { createBackend } from '@quern/backend-reference';
import type { Backend, Weight } from '@quern/core';
import { normal } from '@quern/core/testing';
import { type MixtureWeights, mixtureFeedForward } from '../src/blocks/mixture.js';
import type { MixtureConfig } from '../src/config/decoder-config.js';
import { describeModel, loadLanguageModel, openModelFile, toGguf } from '../src/index.js';
import { convertFolder, randomParameters, type Shapes, writeFolder } from './random-folder.js';
import { sequenceLogits } from './run-model.js';

const [D, E, F, V] = [16, 4, 12, 20];

const layer = (i: number, parts: Shapes): Shapes =>
  Object.fromEntries(
    Object.entries({
      'input_layernorm.weight': [D],
      'self_attn.q_proj.weight': [D, D],
      'self_attn.k_proj.weight': [8, D],
      'self_attn.v_proj.weight': [8, D],
      'self_attn.o_proj.weight': [D, D],
      'self_attn.q_norm.weight': [8],
      'self_attn.k_norm.weight': [8],
      'post_attention_layernorm.weight': [D],
      ...parts,
    }).map(([name, shape]) => [`model.layers.${i}.${name}`, shape]),
  );

const feedForward = (name: string, width: number): Shapes => ({
  [`${name}.gate_proj.weight`]: [width, D],
  [`${name}.up_proj.weight`]: [width, D],
  [`${name}.down_proj.weight`]: [D, width],
});

const sparse: Shapes = {
  'mlp.gate.weight': [E, D],
  'mlp.gate.e_score_correction_bias': [E],
  ...feedForward('mlp.shared_experts', 2 * F),
  ...Object.assign({}, ...[0, 1, 2, 3].map((e) => feedForward(`mlp.experts.${e}`, F))),
};

/** A GLM-4.5 of two layers, and one that predicts a further token. */
const parameters = randomParameters({
  'model.embed_tokens.weight': [V, D],
  'model.norm.weight': [D],
  'lm_head.weight': [V, D],
  ...layer(0, feedForward('mlp', 24)),
  ...layer(1, sparse),
  ...layer(2, { ...sparse, 'eh_proj.weight': [D, 2 * D] }),
});

const config = {
  ...{ architectures: ['Glm4MoeForCausalLM'], hidden_size: D, num_hidden_layers: 2, vocab_size: V },
  ...{ num_attention_heads: 2, num_key_value_heads: 1, head_dim: 8, intermediate_size: 24 },
  ...{ moe_intermediate_size: F, n_routed_experts: E, num_experts_per_tok: 2, n_shared_experts: 2 },
  ...{ n_group: 2, topk_group: 1, norm_topk_prob: false, routed_scaling_factor: 1.5 },
  ...{ tie_word_embeddings: false, num_nextn_predict_layers: 1 },
};

const mixture: MixtureConfig = {
  ...{ experts: E, chosen: 2, renormalise: false, feedForward: F, sparse: [false, true] },
  ...{ score: 'sigmoid', groups: { count: 2, chosen: 1 }, scale: 1.5, sharedFeedForward: 2 * F },
};

async function logitsOf(path: string): Promise<number[][]> {
  using backend = await createBackend();
  const notices: string[] = [];
  const onNotice = (text: string) => notices.push(text);
  using model = await loadLanguageModel(await openModelFile(path), backend, { onNotice });
  expect(notices).toEqual([]);
  return sequenceLogits(model, [0, 3, 6, 1, 4, 7]);
}

test('groups, scale, shared and dense layers: the same from a folder and from its GGUF file', async () => {
  const folder = writeFolder('glm-groups', config, parameters);
  const file = await openModelFile(folder);
  expect(file.config).toMatchObject({ mixture, layers: 2, nextN: 1, rope: { rotaryDim: 4 } });
  expect(describeModel(file).unread).toEqual([]);
  const notices: string[] = [];
  if (file.kind === 'huggingFace') await toGguf(file, { onNotice: (text) => notices.push(text) });
  expect(notices).toEqual([]);
  const gguf = await convertFolder(folder);
  expect((await openModelFile(gguf)).config.mixture).toEqual(mixture);
  expect(await logitsOf(gguf)).toEqual(await logitsOf(folder));
});

test.each([
  [{ n_group: 3 }, /n_group is 3; expected a divisor of 4 experts/],
  [{ topk_group: 3 }, /topk_group is 3; expected a whole number/],
  [{ num_nextn_predict_layers: -1 }, /num_nextn_predict_layers/],
])('%j is refused', async (changes, message) => {
  const folder = writeFolder('glm-refused', { ...config, ...changes }, parameters);
  await expect(openModelFile(folder)).rejects.toThrow(message);
});

test('transformers 5 puts MiniMax-M2’s bias under another name', async () => {
  const sizes = { ...config, architectures: ['MiniMaxM2ForCausalLM'], num_local_experts: E };
  const stored = randomParameters({ 'model.layers.0.mlp.e_score_correction_bias': [E] });
  const { weights } = await openModelFile(writeFolder('minimax-5', sizes, stored));
  expect([...weights.tensors.keys()]).toEqual(['model.layers.0.block_sparse_moe.e_score_correction_bias']);
});

const values = (seed: number, shape: readonly number[]) => Float32Array.from(normal(seed, shape).values);

const load = (
  backend: Backend,
  name: string,
  shape: readonly number[],
  data: Float32Array,
): Promise<Weight> => backend.loadWeight({ name, shape, format: 'f32', bytes: new Uint8Array(data.buffer) });

/** The shared expert's part of a mixture whose chosen experts give 0: y [2, D]. */
async function sharedPart(backend: Backend, x: Float32Array, gate?: Float32Array): Promise<number[]> {
  const random = (name: string, seed: number, ...shape: number[]) =>
    load(backend, name, shape, values(seed, shape));
  const w: MixtureWeights = {
    router: await random('router', 1, E, D),
    gateExperts: await random('gate', 2, E, F, D),
    upExperts: await random('up', 3, E, F, D),
    downExperts: await load(backend, 'down', [E, D, F], new Float32Array(E * D * F)),
    sharedGate: await random('shared gate', 4, F, D),
    sharedUp: await random('shared up', 5, F, D),
    sharedDown: await random('shared down', 6, D, F),
    ...(gate && { sharedRouter: await load(backend, 'shared router', [1, D], gate) }),
  };
  using step = backend.step();
  const routing = { experts: E, chosen: 2, renormalise: true, feedForward: F, sparse: [true] };
  const input = step.input(x, [2, D]);
  const residual = step.input(new Float32Array(2 * D), [2, D]);
  const y = mixtureFeedForward(backend, { ...routing, sharedFeedForward: F })(input, residual, w);
  return Array.from(await step.read(y));
}

test('a gate of the shared expert multiplies its output by a sigmoid, row by row', async () => {
  using backend = await createBackend();
  const [x, gate] = [values(7, [2, D]), values(8, [D])];
  const open = await sharedPart(backend, x);
  const factors = [0, 1].map((t) => {
    const product = gate.reduce((sum, value, i) => sum + value * x[t * D + i]!, 0);
    return 1 / (1 + Math.exp(-product));
  });
  const expected = open.map((value, i) => expect.closeTo(value * factors[Math.floor(i / D)]!, 4));
  expect(await sharedPart(backend, x, gate)).toEqual(expected);
  expect(Math.max(...open.map(Math.abs))).toBeGreaterThan(1);
});
