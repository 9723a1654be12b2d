// Mixtures of experts: both kinds of file, dense layers among sparse ones, equal numbers fused and unfused.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpuDriver } from '@quern/backend-cpu';
import { createBackend as createReference } from '@quern/backend-reference';
import { type Backend, defineBackend } from '@quern/core';
import { type MetadataInput, type TensorInput, type WritableFormat, writeGguf } from '@quern/quant';
import { describeModel, loadLanguageModel, openModelFile } from '../src/index.js';
import { llamaMetadata, llamaTensors, randomTensor, scratch, writeLlama } from './model-files.js';
import { distance, sequenceLogits } from './run-model.js';
import { describeShared, shared } from './shared-data.js';

const ids = [0, 3, 6, 1, 4, 7, 2, 5];
const [E, F] = [4, 32];

/** A layer's experts, width 32. */
const expertTensors = (layer: number, format: WritableFormat = 'f32'): TensorInput[] => [
  randomTensor(`blk.${layer}.ffn_gate_inp.weight`, [E, 32]),
  randomTensor(`blk.${layer}.ffn_gate_exps.weight`, [E, F, 32], format),
  randomTensor(`blk.${layer}.ffn_up_exps.weight`, [E, F, 32], format),
  randomTensor(`blk.${layer}.ffn_down_exps.weight`, [E, 32, F], format),
];

const experts: Readonly<Record<string, MetadataInput>> = {
  'llama.expert_count': E,
  'llama.expert_used_count': 2,
  'llama.feed_forward_length': F,
};
const isDense = ({ name }: TensorInput) => /ffn_(gate|up|down)\./.test(name);

/** A Mixtral with experts in the layers of `sparse`; the others have a feed-forward of width F. */
function mixtral(name: string, sparse: readonly number[], format: WritableFormat = 'f32'): Promise<string> {
  const kept = llamaTensors(format).filter((tensor) => !isDense(tensor));
  const layers = [0, 1].flatMap((i) =>
    sparse.includes(i)
      ? expertTensors(i, format)
      : [
          randomTensor(`blk.${i}.ffn_gate.weight`, [F, 32], format),
          randomTensor(`blk.${i}.ffn_up.weight`, [F, 32], format),
          randomTensor(`blk.${i}.ffn_down.weight`, [32, F], format),
        ],
  );
  return writeLlama(name, { metadata: experts, tensors: [...kept, ...layers] });
}

const logitsOf = async (path: string, backend: Backend) => {
  using model = await loadLanguageModel(await openModelFile(path), backend);
  return sequenceLogits(model, ids);
};

test('llama files with experts are Mixtral; a token reads only its chosen experts', async () => {
  const file = await openModelFile(await mixtral('mixtral.gguf', [0, 1]));
  expect(file.architecture.name).toBe('mixtral');
  expect(file.config.mixture).toEqual({
    experts: E,
    chosen: 2,
    renormalise: true,
    feedForward: F,
    sparse: [true, true],
  });
  const { parameters, activeParameters, weightBytes, bytesPerToken } = describeModel(file);
  const idle = 2 * 2 * 3 * F * 32; // layers · experts not chosen · matrices
  expect(parameters - activeParameters).toBe(idle);
  expect(weightBytes - bytesPerToken).toBe(4 * (idle + 16 * 32)); // and the untied embedding
});

/** A mixture of two equal experts equals a feed-forward with one expert's weights. */
test('equal experts equal a dense model', async () => {
  const dense = llamaTensors();
  const stacked = dense.flatMap((tensor): TensorInput[] => {
    if (!isDense(tensor)) return [tensor];
    const bytes = Buffer.from(tensor.data as Uint8Array);
    const name = tensor.name.replace('.weight', '_exps.weight');
    return [{ ...tensor, name, shape: [2, ...tensor.shape], data: Buffer.concat([bytes, bytes]) }];
  });
  const routers = [0, 1].map((i) => randomTensor(`blk.${i}.ffn_gate_inp.weight`, [2, 32]));
  const metadata = { 'llama.expert_count': 2, 'llama.expert_used_count': 2 };
  const mixed = await writeLlama('equal.gguf', { metadata, tensors: [...stacked, ...routers] });
  using backend = await createReference();
  const want = await logitsOf(await writeLlama('dense.gguf'), backend);
  expect(distance(await logitsOf(mixed, backend), want)).toBeLessThan(1e-5);
});

describe.each(['f32', 'f16', 'q8_0', 'q4_0'] as const)('%s', (format) => {
  test.each([
    ['every layer', [0, 1]],
    ['the second layer', [1]],
  ] as const)('experts in %s: fused, unfused and reference agree', async (_name, sparse) => {
    const path = await mixtral(`${format}-${sparse}.gguf`, sparse, format);
    using fused = defineBackend(await cpuDriver({ threads: 2 }));
    using plain = defineBackend(await cpuDriver({ threads: 2 }), { fuse: false });
    using reference = await createReference();
    expect(plain.moeFused).toBeUndefined();
    const got = await logitsOf(path, fused);
    expect(fused.kernelRuns()).toMatchObject({ moe: sparse.length, expertLinear: 0 });
    expect(distance(await logitsOf(path, plain), got)).toBeLessThan(1e-5);
    expect(plain.kernelRuns()).toMatchObject({ moe: 0, expertLinear: 3 * sparse.length });
    const want = await logitsOf(path, reference);
    const largest = Math.max(...want.flat().map(Math.abs));
    const allowed = format === 'f32' ? 1e-5 : 0.05; // activations rounded to 8 bits or bf16
    expect(distance(got, want)).toBeLessThan(allowed * largest);
  });
});

const broken: readonly [string, Readonly<Record<string, MetadataInput>>, string, RegExp][] = [
  ['k > E', { 'llama.expert_used_count': 5 }, 'BAD_CONFIG', /expert_used_count is 5.*1 to 4/],
  ['too many experts', { 'llama.expert_count': 2 ** 20 }, 'BAD_CONFIG', /expert_count/],
  [
    'shared experts',
    { 'llama.expert_shared_count': 1 },
    'UNSUPPORTED_CONFIG',
    /shared experts are not supported/,
  ],
  ['another gate', { 'llama.expert_gating_func': 2 }, 'UNSUPPORTED_CONFIG', /only softmax/],
  [
    'stacks of wrong size',
    { 'llama.expert_count': 3 },
    'BAD_WEIGHT_SHAPE',
    /ffn_gate_inp.*\[3,32\].*\[4,32\]/,
  ],
];
test.each(broken)('%s: refused', async (_name, metadata, code, message) => {
  const tensors = [...llamaTensors().filter((t) => !isDense(t)), ...expertTensors(0), ...expertTensors(1)];
  const path = await writeLlama('broken.gguf', { metadata: { ...experts, ...metadata }, tensors });
  const error = await openModelFile(path)
    .then(describeModel)
    .catch((thrown) => thrown);
  expect(error).toMatchObject({ name: 'ModelError', code });
  expect(error.message).toMatch(message);
});

describeShared('tiny-hf', 'qwen3-moe of transformers', () => {
  const [tensors, config] = ['tiny_qwen3_moe.safetensors', 'tiny_qwen3_moe_config.json'];
  const settings = JSON.parse(readFileSync(shared('tiny-hf', config), 'utf8'));
  const open = (name: string, changes: object) => {
    writeFileSync(scratch(name), JSON.stringify({ ...settings, ...changes }));
    return openModelFile(shared('tiny-hf', tensors), { config: scratch(name) });
  };

  test.each([
    ['every layer', {}, [true, true]],
    ['every second', { decoder_sparse_step: 2 }, [false, true]],
    ['all except mlp_only_layers', { mlp_only_layers: [1] }, [true, false]],
  ])('sparse layers: %s', async (name, changes, sparse) => {
    const { config } = await open(`${name}.json`, changes);
    expect(config.mixture!.sparse).toEqual(sparse);
  });

  test('windows and norm_topk_prob are read', async () => {
    const windowed = { use_sliding_window: true, sliding_window: 3, norm_topk_prob: null };
    const { config } = await open('windowed.json', windowed);
    expect(config.windows).toEqual([3, 3]);
    expect(config.mixture!.renormalise).toBe(false);
  });

  test('a missing expert: the error names it', async () => {
    const file = await open('five.json', { num_experts: 5 });
    expect(() => describeModel(file)).toThrow(/mlp\.gate\.weight|experts\.4\.gate_proj/);
  });

  test.each([true, false])('renormalised %s: fused, unfused and reference agree', async (norm_topk_prob) => {
    const file = await open(`${norm_topk_prob}.json`, { norm_topk_prob });
    const run = async (backend: Backend) => {
      using owned = backend;
      using model = await loadLanguageModel(file, owned);
      return await sequenceLogits(model, ids);
    };
    const want = await run(await createReference());
    expect(distance(await run(defineBackend(await cpuDriver())), want)).toBeLessThan(2e-5);
    expect(distance(await run(defineBackend(await cpuDriver(), { fuse: false })), want)).toBeLessThan(2e-5);
  });
});

test('a qwen3moe GGUF has its own keys', async () => {
  const metadata = Object.fromEntries(
    Object.entries({ ...llamaMetadata, 'llama.expert_count': E, 'llama.expert_used_count': 1 }).map(
      ([key, value]) => [key.replace('llama.', 'qwen3moe.'), value],
    ),
  );
  const norms = [0, 1].flatMap((i) => [
    randomTensor(`blk.${i}.attn_q_norm.weight`, [8]),
    randomTensor(`blk.${i}.attn_k_norm.weight`, [8]),
  ]);
  const path = scratch('qwen3moe.gguf');
  await writeGguf(path, {
    metadata: { ...metadata, 'general.architecture': 'qwen3moe', 'qwen3moe.expert_feed_forward_length': F },
    tensors: [
      ...llamaTensors().filter((t) => !isDense(t)),
      ...norms,
      ...expertTensors(0),
      ...expertTensors(1),
    ],
  });
  const file = await openModelFile(path);
  expect(file.architecture.name).toBe('qwen3moe');
  expect(file.config.mixture).toMatchObject({ experts: E, chosen: 1, feedForward: F });
  using backend = await createReference();
  expect((await logitsOf(path, backend)).flat().every(Number.isFinite)).toBe(true);
});
