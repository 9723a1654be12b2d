// Other layouts of experts: stacks of transformers 5, and older GGUF files without stacks.
import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend as createReference } from '@quern/backend-reference';
import type { TensorInput } from '@quern/quant';
import { describeModel, loadLanguageModel, openModelFile } from '../src/index.js';
import { llamaTensors, randomTensor, writeLlama } from './model-files.js';
import { floats, type Stored, writeFolder } from './quantised-folders.js';
import { distance, sequenceLogits } from './run-model.js';

const ids = [0, 3, 6, 1, 4, 7, 2, 5];
const [E, F, D] = [4, 48, 32];

const opened = {
  reference: () => createReference(),
  cpu: () => createCpu({ threads: 2 }),
};

/** The logits of two files must be equal on both backends, bit for bit. */
async function expectSame(path: string, other: string) {
  for (const open of Object.values(opened)) {
    using backend = await open();
    using a = await loadLanguageModel(await openModelFile(path), backend);
    using b = await loadLanguageModel(await openModelFile(other), backend);
    expect(distance(await sequenceLogits(a, ids), await sequenceLogits(b, ids))).toBe(0);
  }
}

const random = (name: string, shape: readonly number[]): Float32Array<ArrayBuffer> => {
  const data = randomTensor(name, shape).data as Uint8Array;
  return new Float32Array(data.slice().buffer);
};

const shapes = (qkNorms: boolean): Readonly<Record<string, readonly number[]>> => ({
  'input_layernorm.weight': [D],
  'post_attention_layernorm.weight': [D],
  'self_attn.q_proj.weight': [32, D],
  'self_attn.k_proj.weight': [16, D],
  'self_attn.v_proj.weight': [16, D],
  'self_attn.o_proj.weight': [D, 32],
  ...(qkNorms && { 'self_attn.q_norm.weight': [8], 'self_attn.k_norm.weight': [8] }),
});

interface Family {
  readonly config: object;
  readonly block: string;
  readonly names: readonly [gate: string, up: string, down: string];
  readonly qkNorms: boolean;
}

const sizes = {
  hidden_size: D,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  vocab_size: 16,
  max_position_embeddings: 64,
  num_experts_per_tok: 2,
};

const families: Readonly<Record<string, Family>> = {
  qwen3_moe: {
    config: {
      ...sizes,
      architectures: ['Qwen3MoeForCausalLM'],
      num_experts: E,
      moe_intermediate_size: F,
      intermediate_size: 64,
      norm_topk_prob: true,
    },
    block: 'mlp',
    names: ['gate_proj', 'up_proj', 'down_proj'],
    qkNorms: true,
  },
  mixtral: {
    config: {
      ...sizes,
      architectures: ['MixtralForCausalLM'],
      num_local_experts: E,
      intermediate_size: F,
    },
    block: 'block_sparse_moe',
    names: ['w1', 'w3', 'w2'],
    qkNorms: false,
  },
};

/** Two folders of one model: a tensor per expert, and stacks. */
function writeLayouts(name: string, { config, block, names, qkNorms }: Family) {
  const tensor = (at: string, shape: readonly number[]) => ({ [at]: floats(shape, random(at, shape)) });
  const common: Record<string, Stored> = {
    ...tensor('model.embed_tokens.weight', [16, D]),
    ...tensor('model.norm.weight', [D]),
    ...tensor('lm_head.weight', [16, D]),
  };
  const [apart, fused]: Record<string, Stored>[] = [{}, {}];
  for (const layer of ['model.layers.0', 'model.layers.1']) {
    for (const [part, shape] of Object.entries(shapes(qkNorms)))
      Object.assign(common, tensor(`${layer}.${part}`, shape));
    const router = floats([E, D], random(`${layer}.gate`, [E, D]));
    apart![`${layer}.${block}.gate.weight`] = router;
    fused![`${layer}.mlp.gate.weight`] = router;
    const [gateUp, down] = [random(`${layer}.gate_up`, [E, 2 * F, D]), random(`${layer}.down`, [E, D, F])];
    fused![`${layer}.mlp.experts.gate_up_proj`] = floats([E, 2 * F, D], gateUp);
    fused![`${layer}.mlp.experts.down_proj`] = floats([E, D, F], down);
    for (let e = 0; e < E; e++) {
      const of = (all: Float32Array, matrix: number) => all.slice(matrix * F * D, (matrix + 1) * F * D);
      const at = `${layer}.${block}.experts.${e}`;
      apart![`${at}.${names[0]}.weight`] = floats([F, D], of(gateUp, 2 * e));
      apart![`${at}.${names[1]}.weight`] = floats([F, D], of(gateUp, 2 * e + 1));
      apart![`${at}.${names[2]}.weight`] = floats([D, F], of(down, e));
    }
  }
  return {
    apart: writeFolder(`${name}-apart`, config, { ...common, ...apart }),
    fused: writeFolder(`${name}-fused`, config, { ...common, ...fused }),
    common,
    stacks: fused!,
  };
}

describe.each(Object.entries(families))('%s', (name, family) => {
  test('stacks of gate over up, and of down: equal to a tensor per expert', async () => {
    const { apart, fused } = writeLayouts(name, family);
    await expectSame(fused, apart);
  });

  test('transposed stacks are refused: wrong shape', async () => {
    const { common, stacks } = writeLayouts(name, family);
    const turned = Object.entries(stacks).map(([at, { shape, ...rest }]) =>
      at.includes('experts') ? [at, { ...rest, shape: [E, shape[2], shape[1]] }] : [at, { ...rest, shape }],
    );
    const path = writeFolder(`${name}-turned`, family.config, { ...common, ...Object.fromEntries(turned) });
    const file = await openModelFile(path);
    expect(() => describeModel(file)).toThrow(/experts\.0\.\w+\.weight' must have shape/);
  });
});

test('too many expert matrices are refused before they are listed', async () => {
  const data = new Uint8Array(2 ** 22);
  const stack = { dtype: 'F8_E4M3', shape: [2 ** 22, 1, 1], data } as const;
  const path = writeFolder('crowd', families.qwen3_moe!.config, {
    'model.layers.0.mlp.experts.down_proj': stack,
  });
  await expect(openModelFile(path)).rejects.toMatchObject({ code: 'BAD_WEIGHT_SHAPE' });
});

/** The tensors of a Mixtral with stacks [E, N, K]. */
const stacked = (): TensorInput[] => [
  ...llamaTensors().filter(({ name }) => !/ffn_(gate|up|down)\./.test(name)),
  ...[0, 1].flatMap((i) => [
    randomTensor(`blk.${i}.ffn_gate_inp.weight`, [E, D]),
    randomTensor(`blk.${i}.ffn_gate_exps.weight`, [E, F, D], 'q8_0'),
    randomTensor(`blk.${i}.ffn_up_exps.weight`, [E, F, D], 'q8_0'),
    randomTensor(`blk.${i}.ffn_down_exps.weight`, [E, D, F], 'f16'),
  ]),
];

/** The layout of older llama.cpp: a tensor per expert. */
const apart = (tensor: TensorInput): TensorInput[] => {
  if (!tensor.name.includes('_exps')) return [tensor];
  const data = tensor.data as Uint8Array;
  const each = data.length / E;
  return Array.from({ length: E }, (_, e) => ({
    name: tensor.name.replace('_exps', `.${e}`),
    shape: tensor.shape.slice(1),
    format: tensor.format,
    data: data.slice(e * each, (e + 1) * each),
  }));
};

const metadata = {
  'llama.expert_count': E,
  'llama.expert_used_count': 2,
  'llama.feed_forward_length': F,
};

test('a GGUF with a tensor per expert equals the one with stacks', async () => {
  const whole = await writeLlama('stacked.gguf', { metadata, tensors: stacked() });
  const tensors = stacked().flatMap(apart);
  expect(tensors.map(({ name }) => name)).toContain('blk.1.ffn_down.3.weight');
  await expectSame(await writeLlama('apart.gguf', { metadata, tensors }), whole);
});

test('a GGUF with a missing expert: the error names it', async () => {
  const tensors = stacked()
    .flatMap(apart)
    .filter(({ name }) => name !== 'blk.1.ffn_up.2.weight');
  const file = await openModelFile(await writeLlama('lacking.gguf', { metadata, tensors }));
  expect(() => describeModel(file)).toThrow("tensor 'blk.1.ffn_up.2.weight' [48,32] is missing");
});
