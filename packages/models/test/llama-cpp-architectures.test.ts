// Every architecture against llama.cpp's logits in f32: tiny random files, one folder each (../shared/data/llamacpp-arch); then
// the same weights as a Hugging Face folder, and that folder converted to GGUF again.
import { existsSync, readFileSync } from 'node:fs';
import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend as createReference, referenceDriver } from '@quern/backend-reference';
import { type Backend, defineBackend } from '@quern/core';
import { openGguf } from '@quern/quant';
import { type DecoderConfig, describeModel, loadLanguageModel, openModelFile } from '../src/index.js';
import type { FileTensor } from '../src/weights/file-tensor.js';
import { resolveWeights } from '../src/weights/resolve-weights.js';
import { isConstant } from '../src/weights/weight-file.js';
import { convertFolder, type Parameters, writeFolder } from './random-folder.js';
import { distance, sequenceLogits } from './run-model.js';
import { readJson, shared } from './shared-data.js';
import { valuesOf } from './stored-values.js';

type Stored = Parameters extends ReadonlyMap<string, infer Tensor> ? Tensor : never;

interface Case {
  /** Largest relative error; more than 1e-4 where rounding in f32 alone changes a fifth of it. */
  readonly tolerance?: number;
  /** Weights below f32: the CPU would round activations, and a router may then choose another expert. */
  readonly rounding?: true;
  /** config.json of the same model. */
  readonly config?: object;
  /** Why its folder cannot be converted. */
  readonly refused?: string;
  /** The goldens of another folder. */
  readonly golden?: string;
  /** A tensor of GGUF as Hugging Face's files have it. */
  layout?(name: string, tensor: Stored, config: DecoderConfig): Iterable<readonly [string, Stored]>;
}

const small = { hidden_size: 64, num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 264 };
const qwen3Vl = {
  ...{
    ...small,
    intermediate_size: 96,
    num_hidden_layers: 4,
    head_dim: 16,
    rms_norm_eps: 1e-6,
    rope_theta: 5e6,
  },
  rope_scaling: { rope_type: 'default', mrope_section: [4, 2, 2], mrope_interleaved: true },
};
const ministral3 = {
  ...{ ...small, num_hidden_layers: 3, head_dim: 24, intermediate_size: 96, tie_word_embeddings: true },
  max_position_embeddings: 1024,
  rope_parameters: {
    ...{ rope_type: 'yarn', rope_theta: 1e6, factor: 16, original_max_position_embeddings: 16 },
    ...{ beta_fast: 0.5, beta_slow: 0.05, mscale: 1, mscale_all_dim: 1, llama_4_scaling_beta: 0.4 },
  },
};
const exaone4 = {
  ...{ architectures: ['Exaone4ForCausalLM'], num_hidden_layers: 4, head_dim: 16, intermediate_size: 96 },
  ...{ rms_norm_eps: 1e-5, rope_theta: 1e6, tie_word_embeddings: true },
};

/** Rows of heads, in the order of `order`. */
function headRows({ shape, values }: Stored, headDim: number, order: readonly number[]): Stored {
  const size = headDim * (values.length / shape[0]!);
  const heads = order.map((head) => Array.from(values.subarray(head * size, (head + 1) * size)));
  return { shape: [order.length * headDim, ...shape.slice(1)], values: Float32Array.from(heads.flat()) };
}

/** GPT-NeoX: q, k and v of head 0, then of head 1, …. */
const byHead: Case['layout'] = (name, tensor, { heads: H, headDim }) => {
  const order = Array.from({ length: H }, (_, h) => [h, H + h, 2 * H + h]).flat();
  return [[name, name.includes('query_key_value') ? headRows(tensor, headDim, order) : tensor]];
};

/** GPT-2: matrices [K, N]. */
const conv1d: Case['layout'] = (name, { shape, values }) => {
  if (!/c_(attn|proj|fc)\.weight$/.test(name)) return [[name, { shape, values }]];
  const [N, K] = shape as [number, number];
  return [[name, { shape: [K, N], values: values.map((_, i) => values[(i % N) * K + Math.floor(i / N)]!) }]];
};

/** Falcon 7B: one norm per layer. */
const oneNorm: Case['layout'] = (name, tensor) => [[name.replace('ln_mlp', 'input_layernorm'), tensor]];

const times = ({ shape, values }: Stored, factor: number): Stored => ({
  shape,
  values: values.map((value) => factor * value),
});

/**
 * The same model in the form of Falcon 40B: its 4 query heads in two groups, each with the one key and value; attention
 * has a norm of its own, twice as large, and half as large projections.
 */
const twoGroups: Case['layout'] = (name, tensor, { headDim }) => {
  if (name.includes('query_key_value'))
    return [[name, times(headRows(tensor, headDim, [0, 1, 4, 5, 2, 3, 4, 5]), 0.5)]];
  if (!name.includes('ln_mlp')) return [[name, tensor]];
  return [
    [name, tensor],
    [name.replace('ln_mlp', 'ln_attn'), times(tensor, 2)],
  ];
};

/** Stacks of experts: a matrix per expert. */
const expertsApart: Case['layout'] = (name, { shape: [E, ...shape], values }) => {
  if (!name.includes('{e}')) return [[name, { shape: [E!, ...shape], values }]];
  const size = values.length / E!;
  return Array.from({ length: E! }, (_, e) => [
    name.replace('{e}', String(e)),
    { shape, values: values.slice(e * size, (e + 1) * size) },
  ]);
};

/** Depthwise convolutions as [C, 1, L]. */
const depthwise = ({ shape: [C, L], values }: Stored): Stored => ({ shape: [C!, 1, L!], values });

/** Qwen3.5: norms without their 1, logarithms, and value heads beside those of the same key head. */
const grouped: Case['layout'] = (name, tensor, { deltaRule }) => {
  const { keyHeads, valueHeads, keyDim, valueDim } = deltaRule!;
  const order = Array.from({ length: valueHeads }, (_, h) => {
    const each = valueHeads / keyHeads;
    return (h % each) * keyHeads + Math.floor(h / each);
  });
  const { shape, values } = tensor;
  const mapped = (map: (value: number) => number): Stored => ({ shape, values: values.map(map) });
  const last = (width: number, before = 0): Stored => {
    const keys = Array.from({ length: before / width }, (_, i) => i);
    return { ...headRows(tensor, width, [...keys, ...order.map((h) => keys.length + h)]), shape };
  };
  const part = name.split('.').at(-2)!;
  if (name.endsWith('A_log'))
    return [[name, { ...last(1), values: last(1).values.map((value) => Math.log(-value)) }]];
  if (name.endsWith('dt_bias') || /^in_proj_[ab]$/.test(part)) return [[name, last(1)]];
  if (part === 'in_proj_z') return [[name, last(valueDim)]];
  if (part === 'in_proj_qkv') return [[name, last(valueDim, 2 * keyHeads * keyDim)]];
  if (part === 'conv1d') return [[name, depthwise(last(valueDim, 2 * keyHeads * keyDim))]];
  if (part === 'out_proj') {
    const from = (i: number) => order[Math.floor((i % shape[1]!) / valueDim)]! * valueDim + (i % valueDim);
    return [[name, { shape, values: values.map((_, i) => values[i - (i % shape[1]!) + from(i)]!) }]];
  }
  return [
    [name, /norm$/.test(part) && !name.includes('linear_attn') ? mapped((value) => value - 1) : tensor],
  ];
};

const falcon = {
  ...{ architectures: ['FalconForCausalLM'], hidden_size: 64, num_attention_heads: 4, num_hidden_layers: 3 },
  ...{ vocab_size: 264, ffn_hidden_size: 192, activation: 'gelu_new', layer_norm_epsilon: 1e-5 },
};

const folders: Readonly<Record<string, Case>> = {
  gemma3: {},
  'gpt-oss-f32': {},
  'gpt-oss': { rounding: true },
  glm4moe: {
    config: {
      ...{ ...small, architectures: ['Glm4MoeForCausalLM'], num_hidden_layers: 4, head_dim: 24 },
      ...{ intermediate_size: 96, moe_intermediate_size: 24, n_routed_experts: 5, num_experts_per_tok: 3 },
      ...{ routed_scaling_factor: 1.7, n_group: 1, topk_group: 1, attention_bias: true, rope_theta: 1e6 },
      ...{ tie_word_embeddings: false, num_nextn_predict_layers: 1 },
    },
    layout: expertsApart,
  },
  'minimax-m2': {
    config: {
      ...{ ...small, architectures: ['MiniMaxM2ForCausalLM'], num_hidden_layers: 2, head_dim: 16 },
      ...{ intermediate_size: 48, num_local_experts: 6, num_experts_per_tok: 3, rotary_dim: 8 },
      ...{ rms_norm_eps: 1e-6, tie_word_embeddings: false },
    },
    layout: expertsApart,
  },
  mistral3: { config: { ...ministral3, architectures: ['Ministral3ForCausalLM'] } },
  'mistral3, of a vision model': {
    golden: 'mistral3',
    config: { architectures: ['Mistral3ForConditionalGeneration'], text_config: ministral3 },
    layout: (name, tensor) => [[`language_model.${name}`, tensor]],
  },
  qwen3vl: {
    config: {
      architectures: ['Qwen3VLForConditionalGeneration'],
      tie_word_embeddings: true,
      text_config: qwen3Vl,
    },
  },
  seed_oss: {
    config: {
      ...{ ...small, architectures: ['SeedOssForCausalLM'], num_hidden_layers: 3, head_dim: 24 },
      ...{ intermediate_size: 96, attention_bias: true, attention_out_bias: false, rms_norm_eps: 1e-6 },
      ...{ rope_theta: 1e7, tie_word_embeddings: false },
    },
  },
  smollm3: {
    config: {
      ...{ ...small, architectures: ['SmolLM3ForCausalLM'], num_hidden_layers: 5, intermediate_size: 72 },
      ...{ rms_norm_eps: 1e-6, rope_theta: 5e6, tie_word_embeddings: true },
      no_rope_layers: [1, 1, 1, 0, 1],
    },
  },
  qwen35: {
    config: {
      architectures: ['Qwen3_5ForConditionalGeneration'],
      tie_word_embeddings: false,
      text_config: {
        ...{
          ...small,
          head_dim: 32,
          intermediate_size: 64,
          num_hidden_layers: 4,
          full_attention_interval: 4,
        },
        ...{
          rms_norm_eps: 1e-6,
          linear_num_key_heads: 2,
          linear_num_value_heads: 4,
          linear_key_head_dim: 32,
        },
        ...{ linear_value_head_dim: 32, linear_conv_kernel_dim: 4 },
        rope_parameters: { rope_theta: 1e7, partial_rotary_factor: 0.25, mrope_section: [2, 1, 1] },
      },
    },
    layout: grouped,
    refused: 'the delta rule has 4 value heads for 2 key heads',
  },
  'qwen35-q4_k': { rounding: true },
  qwen35moe: {},
  'qwen35moe-q8_0': { rounding: true },
  qwen3next: {},
  lfm2: {
    config: {
      ...{ ...small, architectures: ['Lfm2ForCausalLM'], num_hidden_layers: 5, block_ff_dim: 64 },
      ...{ block_auto_adjust_ff_dim: false, norm_eps: 1e-5, rope_theta: 1e6, conv_L_cache: 3 },
      full_attn_idxs: [2, 4],
    },
    layout: (name, tensor) => [[name, name.endsWith('conv.conv.weight') ? depthwise(tensor) : tensor]],
  },
  exaone4: {}, // its frequencies' divisors are no setting of config.json
  'exaone4-swa': {
    tolerance: 3e-4,
    config: {
      ...{ ...exaone4, vocab_size: 264, hidden_size: 32, num_attention_heads: 2, num_key_value_heads: 1 },
      ...{ num_hidden_layers: 64, intermediate_size: 8, sliding_window: 16, sliding_window_pattern: 'LLLG' },
    },
  },
  stablelm: {
    config: {
      ...{ ...small, num_key_value_heads: 4, architectures: ['StableLmForCausalLM'], num_hidden_layers: 3 },
      ...{ intermediate_size: 96, layer_norm_eps: 1e-5, use_qkv_bias: true, partial_rotary_factor: 0.25 },
      tie_word_embeddings: false,
    },
  },
  phi2: {
    config: {
      ...{ ...small, num_key_value_heads: null, architectures: ['PhiForCausalLM'], num_hidden_layers: 3 },
      ...{ intermediate_size: 192, layer_norm_eps: 1e-5, hidden_act: 'gelu_new' },
      ...{ partial_rotary_factor: 0.5, tie_word_embeddings: false },
    },
  },
  gptneox: {
    config: {
      ...{
        ...small,
        num_key_value_heads: undefined,
        architectures: ['GPTNeoXForCausalLM'],
        num_hidden_layers: 3,
      },
      ...{ intermediate_size: 128, layer_norm_eps: 1e-5, hidden_act: 'gelu_new', rotary_pct: 0.25 },
      ...{ rotary_emb_base: 10_000, use_parallel_residual: true, tie_word_embeddings: false },
    },
    layout: byHead,
  },
  gpt2: {
    config: {
      ...{ architectures: ['GPT2LMHeadModel'], vocab_size: 264, n_embd: 64, n_layer: 3, n_head: 4 },
      ...{ n_inner: 160, n_positions: 128, layer_norm_epsilon: 1e-5 },
    },
    layout: conv1d,
  },
  falcon: { config: { ...falcon, multi_query: true }, layout: oneNorm },
  'falcon, as 40B': {
    golden: 'falcon',
    config: { ...falcon, new_decoder_architecture: true, num_kv_heads: 2 },
    layout: twoGroups,
  },
  'command-r': {
    config: {
      ...{ ...small, architectures: ['CohereForCausalLM'], num_hidden_layers: 3, intermediate_size: 128 },
      ...{ layer_norm_eps: 1e-5, rope_theta: 8e6, logit_scale: 0.8 },
    },
  },
  cohere2: {
    config: {
      ...{ ...small, architectures: ['Cohere2ForCausalLM'], num_hidden_layers: 4, intermediate_size: 96 },
      ...{ layer_norm_eps: 1e-5, rope_theta: 50_000, logit_scale: 0.7, sliding_window: 14 },
    },
  },
  olmo2: {
    config: {
      ...{ ...small, num_key_value_heads: null, architectures: ['Olmo2ForCausalLM'], num_hidden_layers: 3 },
      ...{ intermediate_size: 96, rms_norm_eps: 1e-6, rope_theta: 500_000, tie_word_embeddings: false },
    },
  },
  olmo3: {
    config: {
      ...{ ...small, architectures: ['Olmo3ForCausalLM'], num_hidden_layers: 6, intermediate_size: 48 },
      ...{ rms_norm_eps: 1e-6, rope_theta: 500_000, tie_word_embeddings: false, sliding_window: 16 },
      layer_types: [0, 0, 0, 1, 0, 1].map((isFull) => (isFull ? 'full_attention' : 'sliding_attention')),
      rope_scaling: { rope_type: 'yarn', factor: 8, original_max_position_embeddings: 4096 },
    },
  },
};

const at = (folder: string, ...file: string[]) => shared('llamacpp-arch', folder, ...file);

/** llama.cpp's logits of sequence `s`: [tokens][vocabulary]. */
function expected(folder: string, s: number, tokens: number): number[][] {
  const { buffer, byteOffset, byteLength } = readFileSync(at(folder, `logits-${s}.f32`));
  const values = Array.from(new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength)));
  const vocabulary = values.length / tokens;
  return Array.from({ length: tokens }, (_, t) => values.slice(t * vocabulary, (t + 1) * vocabulary));
}

const largest = (logits: readonly (readonly number[])[]) => Math.max(...logits.flat().map(Math.abs));

const whole = Number.POSITIVE_INFINITY;

/** The largest relative error over both sequences; the first in chunks of `first` tokens, the second of `second`. */
async function error(
  path: string,
  folder: string,
  [first, second]: readonly [number, number] = [whole, whole],
  createBackend: () => Promise<Backend> = createReference,
): Promise<number> {
  using backend = await createBackend();
  using model = await loadLanguageModel(await openModelFile(path), backend);
  const sequences: number[][] = readJson('llamacpp-arch', folder, 'ids.json');
  const errors = [];
  for (const [s, ids] of sequences.entries()) {
    const wanted = expected(folder, s, ids.length);
    const logits = await sequenceLogits(model, ids, Math.min(ids.length, s === 0 ? first : second));
    errors.push(distance(logits, wanted) / largest(wanted));
  }
  return Math.max(...errors);
}

/** Rows of each head from neighbours (0, 1), (2, 3) … that rotate together to halves (0, d/2) …. */
function inHalves(values: Float32Array, rows: number, headDim: number): Float32Array<ArrayBuffer> {
  const width = values.length / rows;
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const [head, i] = [Math.floor(row / headDim), row % headDim];
    const from = head * headDim + (i < headDim / 2 ? 2 * i : 2 * (i - headDim / 2) + 1);
    result.set(values.subarray(from * width, (from + 1) * width), row * width);
  }
  return result;
}

/** The weights of a folder's GGUF file under Hugging Face's names and in its order. */
async function asHuggingFace(
  folder: string,
  layout: Case['layout'] = (name, tensor) => [[name, tensor]],
): Promise<Parameters> {
  const { architecture, config, weights } = await openModelFile(at(folder, 'model.gguf'));
  const { model, layer: ofLayer } = architecture.weights;
  const inText = (name: string) =>
    folder === 'qwen3vl' || folder === 'qwen35' ? name.replace(/^model\./, 'model.language_model.') : name;
  const resolved = resolveWeights(architecture.weights, config, weights);
  const inFile = resolved.filter(({ tensor }) => !isConstant(tensor));
  return new Map(
    inFile.flatMap(({ field, layer, tensor }) => {
      const entry = (layer === undefined ? model : ofLayer)[field]!;
      const [inGguf, name] = [entry.gguf, entry.huggingFace].map((of) => of.replace('{i}', String(layer)));
      const stored = entry.rows ? weights.tensors.get(inGguf!)! : (tensor as FileTensor); // fused: the whole
      const values = valuesOf(stored);
      const isTurned = architecture.gguf!.rope === 'interleaved' && (field === 'q' || field === 'k');
      const own = isTurned ? inHalves(values, stored.shape[0]!, config.headDim) : values;
      return [...layout(inText(name!), { shape: stored.shape, values: own }, config)];
    }),
  );
}

/** Metadata that llama.cpp's file has, and a converted one lacks. */
async function missingKeys(converted: string, original: string): Promise<readonly string[]> {
  const [ours, theirs] = [await openGguf(converted), await openGguf(original)];
  const isOfModel = (key: string) => !/^(general|tokenizer)\.|n_deepstack_layers$/.test(key);
  return [...theirs.metadata.keys()].filter((key) => isOfModel(key) && !ours.metadata.has(key));
}

/** Tensors that a converted file has, and llama.cpp's lacks; q, k and v may be one tensor there. */
async function addedTensors(converted: string, original: string): Promise<readonly string[]> {
  const [ours, theirs] = [await openGguf(converted), await openGguf(original)];
  const known = new Set(theirs.tensors.map(({ name }) => name));
  return ours.tensors
    .map(({ name }) => name)
    .filter((name) => !known.has(name) && !/attn_[qkv]\./.test(name));
}

describe.each(Object.entries(folders))(
  '%s',
  (name, { tolerance = 1e-4, rounding, config, layout, refused, golden: folder = name }) => {
    if (!existsSync(at(folder))) {
      test.skip(`../shared/data/llamacpp-arch/${folder} is absent`, () => {});
      return;
    }
    test('llama.cpp’s logits: a prompt in one step, in chunks of 7, and token by token', async () => {
      const path = at(folder, 'model.gguf');
      expect(await error(path, folder)).toBeLessThan(tolerance);
      expect(await error(path, folder, [1, 7])).toBeLessThan(tolerance);
      const cpu = () => createCpu(rounding ? { precision: 'exact' } : {});
      expect(await error(path, folder, [1, 7], cpu)).toBeLessThan(tolerance);
    }, 60_000);

    if (config)
      test('the same as a Hugging Face folder, and converted from it', async () => {
        const parameters = await asHuggingFace(folder, layout);
        const settings = { max_position_embeddings: 512, ...config };
        const path = writeFolder(`arch-${name}`, settings, parameters);
        const elements = [...parameters.values()].reduce((sum, { values }) => sum + values.length, 0);
        expect(describeModel(await openModelFile(path)).parameters).toBe(elements);
        expect(await error(path, folder)).toBeLessThan(tolerance);
        if (refused) return void (await expect(convertFolder(path)).rejects.toThrow(refused));
        const converted = await convertFolder(path);
        expect(await error(converted, folder)).toBeLessThan(tolerance);
        expect(await missingKeys(converted, at(folder, 'model.gguf'))).toEqual([]);
        if (folder === name) expect(await addedTensors(converted, at(folder, 'model.gguf'))).toEqual([]);
      }, 60_000);
  },
);

const gptOss = at('gpt-oss-f32', 'model.gguf');

(existsSync(gptOss) ? test : test.skip)('a driver from before sinks is refused by name', async () => {
  const driver = referenceDriver();
  const { takes: _later, ...attention } = driver.manifest.ops.attention;
  const older = { ...driver, name: 'older', manifest: { ops: { ...driver.manifest.ops, attention } } };
  const create = async () => defineBackend(older);
  await expect(error(gptOss, 'gpt-oss-f32', [whole, whole], create)).rejects.toThrow(
    "[attention] backend 'older' cannot: no kernel takes 'sinks'",
  );
});

(existsSync(gptOss) ? test : test.skip)(
  'gpt-oss without a router is refused by the name of its tensor',
  async () => {
    const { architecture, config, weights } = await openModelFile(gptOss);
    const tensors = new Map(weights.tensors);
    tensors.delete('blk.1.ffn_gate_inp.weight');
    expect(() => resolveWeights(architecture.weights, config, { ...weights, tensors })).toThrow(
      /'blk\.1\.ffn_gate_inp\.weight' .*is missing/,
    );
  },
);
