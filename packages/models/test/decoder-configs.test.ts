// Settings of single architectures, and those that are refused.
import { cohere2 } from '../src/cohere2.js';
import { commandR } from '../src/command-r.js';
import { ownValue } from '../src/config/settings.js';
import { exaone4 } from '../src/exaone4.js';
import { falcon } from '../src/falcon.js';
import { gptNeoX } from '../src/gpt-neox.js';
import { gptOss } from '../src/gpt-oss.js';
import { gpt2 } from '../src/gpt2.js';
import { type Architecture, type DecoderConfig, ModelError, openModelFile, Settings } from '../src/index.js';
import { lfm2 } from '../src/lfm2.js';
import { olmo2 } from '../src/olmo2.js';
import { olmo3 } from '../src/olmo3.js';
import { phi2 } from '../src/phi2.js';
import { qwen3Next } from '../src/qwen3-next.js';
import { qwen3Vl } from '../src/qwen3-vl.js';
import { qwen35 } from '../src/qwen35.js';
import { seedOss } from '../src/seed-oss.js';
import { smolLm3 } from '../src/smollm3.js';
import { stableLm } from '../src/stablelm.js';
import { writeLlama } from './model-files.js';

const small = {
  num_key_value_heads: 4,
  ...{ hidden_size: 32, intermediate_size: 64, num_hidden_layers: 4, num_attention_heads: 4, vocab_size: 16 },
  max_position_embeddings: 64,
};
const weights = { naming: 'huggingFace', paths: ['m.safetensors'], tensors: new Map() } as const;

const read = (architecture: Architecture, json: object): DecoderConfig =>
  architecture.configFromHuggingFace({
    settings: new Settings('config.json', ownValue({ ...small, ...json })),
    weights,
  });

function refusal(architecture: Architecture, json: object): string {
  try {
    read(architecture, json);
  } catch (error) {
    if (error instanceof ModelError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

test('SmolLM3: layers that do not rotate, from the list or from the interval', () => {
  expect(read(smolLm3, {}).unrotated).toEqual([false, false, false, true]);
  expect(read(smolLm3, { no_rope_layer_interval: 2 }).unrotated).toEqual([false, true, false, true]);
  expect(read(smolLm3, { no_rope_layers: [0, 1, 1, 1, 0, 0] }).unrotated).toEqual([
    true,
    false,
    false,
    false,
  ]);
  const windows = { use_sliding_window: true, sliding_window: 16 };
  expect(read(smolLm3, windows).windows).toEqual([0, 0, 0, 16]);
  expect(read(smolLm3, { ...windows, sliding_window: null }).windows).toEqual([0, 0, 0, 0]);
  expect(smolLm3.gguf.llamaCppDiffers(read(smolLm3, windows))).toBe('has no windows in this architecture');
  expect(smolLm3.gguf.llamaCppDiffers(read(smolLm3, {}))).toBeUndefined();
});

test('EXAONE 4: full attention does not rotate where other layers have windows', () => {
  const hybrid = read(exaone4, { sliding_window: 16 });
  expect(hybrid.windows).toEqual([16, 16, 16, 0]);
  expect(hybrid.unrotated).toEqual([false, false, false, true]);
  const typed = ['full_attention', 'sliding_attention', 'full_attention', 'sliding_attention'];
  expect(read(exaone4, { sliding_window: 16, layer_types: typed }).windows).toEqual([0, 16, 0, 16]);
  expect(read(exaone4, { sliding_window: 16, sliding_window_pattern: 'LG' }).windows).toEqual([16, 0, 16, 0]);
  const full = Array.from({ length: 4 }, () => 'full_attention');
  const none = read(exaone4, { sliding_window: 16, layer_types: full });
  expect([none.windows, none.unrotated]).toEqual([
    [0, 0, 0, 0],
    [true, true, true, true],
  ]);
  expect(exaone4.gguf.llamaCppDiffers(none)).toMatch(/models of 64 layers/);
  const plain = read(exaone4, { sliding_window: null });
  expect(exaone4.gguf.llamaCppDiffers(plain)).toBeUndefined();
  expect([plain.windows, plain.unrotated]).toEqual([[0, 0, 0, 0], undefined]);
});

test('StableLM: blocks side by side, or one after the other', () => {
  expect(read(stableLm, {})).toMatchObject({ parallel: false, normEps: 1e-5, rope: { rotaryDim: 2 } });
  expect(read(stableLm, { use_parallel_residual: true }).parallel).toBe(true);
});

test('Phi-2 and StableLM: the part of a head that rotates, in the newer place', () => {
  const wide = { hidden_size: 320, rope_parameters: { rope_type: 'default', partial_rotary_factor: 0.4 } }; // heads of 80
  expect(read(phi2, wide).rope.rotaryDim).toBe(32);
  expect(read(phi2, { ...wide, partial_rotary_factor: 0.5 }).rope.rotaryDim).toBe(32);
  expect(read(stableLm, wide).rope.rotaryDim).toBe(32);
  expect(read(phi2, { hidden_size: 320 }).rope.rotaryDim).toBe(40);
});

test('Seed-OSS: heads of 128 unless the file says otherwise', () => {
  expect(read(seedOss, {}).headDim).toBe(128);
  expect(read(seedOss, { head_dim: 24 }).headDim).toBe(24);
});

test('Qwen3-VL: the settings of the text part; tied as the whole model says', () => {
  const text_config = { ...small, num_hidden_layers: 2, tie_word_embeddings: false };
  expect(read(qwen3Vl, { text_config })).toMatchObject({ headDim: 128, ropeSections: [24, 20, 20] });
  expect(read(qwen3Vl, { text_config, tie_word_embeddings: true })).toMatchObject({ layers: 2, tied: true });
  expect(read(qwen3Vl, { text_config })).toMatchObject({ layers: 2, tied: false });
});

test('GPT-NeoX: a quarter of a head rotates, side by side, gelu by erf', () => {
  const config = read(gptNeoX, { hidden_size: 64 }); // heads of 16
  expect(config).toMatchObject({ parallel: true, gelu: 'erf', normEps: 1e-5, tied: false });
  expect(config.rope).toMatchObject({ theta: 10_000, rotaryDim: 4 });
  expect(gptNeoX.gguf.llamaCppDiffers(config)).toMatch(/tanh form/);
  const other = {
    rotary_pct: 0.5,
    rotary_emb_base: 500,
    use_parallel_residual: false,
    hidden_act: 'gelu_new',
  };
  const second = read(gptNeoX, { hidden_size: 64, ...other });
  expect(second).toMatchObject({ parallel: false, gelu: 'tanh', rope: { theta: 500, rotaryDim: 8 } });
  expect(gptNeoX.gguf.llamaCppDiffers(second)).toBeUndefined();
  expect(gptNeoX.gguf.metadata(second)).toEqual({ use_parallel_residual: false });
  const newer = { rope_parameters: { rope_type: 'default', rope_theta: 500, partial_rotary_factor: 0.5 } };
  expect(read(gptNeoX, { hidden_size: 64, ...newer }).rope).toEqual(second.rope);
});

/** GPT-2's own names of the sizes. */
const sizesOfGpt2 = { n_embd: 32, n_layer: 4, n_head: 4, vocab_size: 16 };
const readGpt2 = (json: object) =>
  gpt2.configFromHuggingFace({
    settings: new Settings('config.json', ownValue({ ...sizesOfGpt2, ...json })),
    weights,
  });

test('GPT-2: a table of positions, four times the width, tied, no rotation', () => {
  expect(readGpt2({ n_inner: null })).toMatchObject({
    ...{ width: 32, heads: 4, kvHeads: 4, headDim: 8, feedForward: 128, context: 1024, positionRows: 1024 },
    ...{ tied: true, gelu: 'tanh', normEps: 1e-5, unrotated: [true, true, true, true] },
  });
  expect(readGpt2({ n_inner: 80, n_positions: 64, activation_function: 'gelu' })).toMatchObject({
    ...{ feedForward: 80, positionRows: 64, gelu: 'erf' },
  });
});

test('Falcon: one kv head, or groups; one norm, or two', () => {
  const old = read(falcon, {});
  expect(old).toMatchObject({ kvHeads: 1, feedForward: 128, twoNorms: false, tied: true, gelu: 'erf' });
  expect(read(falcon, { num_kv_heads: 2 }).kvHeads).toBe(1);
  expect(read(falcon, { multi_query: false, num_kv_heads: 2 }).kvHeads).toBe(4);
  const grouped = { new_decoder_architecture: true, num_kv_heads: 2 };
  expect(read(falcon, grouped)).toMatchObject({ kvHeads: 2, twoNorms: true });
  expect(read(falcon, { ...grouped, num_ln_in_parallel_attn: 1 })).toMatchObject({ twoNorms: false });
  expect(read(falcon, { ...grouped, ffn_hidden_size: 96 }).feedForward).toBe(96);
});

test('Command-R: defaults of CohereConfig; neighbours rotate together; the longer of two contexts', () => {
  const { rope, ...config } = read(commandR, { max_position_embeddings: undefined });
  expect(rope).toEqual({ theta: 500_000, layout: 'interleaved' });
  expect(config).toMatchObject({ logitFactor: 0.0625, normEps: 1e-5, context: 8192, tied: true });
  expect(read(commandR, { model_max_length: 131_072 }).context).toBe(131_072);
  const untied = read(commandR, { tie_word_embeddings: false });
  expect(commandR.gguf.llamaCppDiffers(untied)).toMatch(/the embedding as the output/);
  expect(commandR.gguf.llamaCppDiffers(read(commandR, {}))).toBeUndefined();
});

test('Command-R7B: windows in three of four layers, whose layers alone rotate', () => {
  const usual = read(cohere2, {});
  expect(usual).toMatchObject({ windows: [4096, 4096, 4096, 0], rope: { theta: 10_000 } });
  expect(usual.unrotated).toEqual([false, false, false, true]);
  expect(read(cohere2, { sliding_window: 16, sliding_window_pattern: 2 }).windows).toEqual([16, 0, 16, 0]);
  const layer_types = ['full_attention', 'sliding_attention', 'full_attention', 'full_attention'];
  expect(read(cohere2, { layer_types }).unrotated).toEqual([true, false, true, true]);
});

test('Cohere’s GGUF files: a factor of 0 is none; Command-R+ and a missing window are refused', () => {
  const metadata = {
    ...{ embedding_length: 32, block_count: 4, context_length: 64, feed_forward_length: 64, vocab_size: 16 },
    ...{ 'attention.head_count': 4, 'attention.layer_norm_epsilon': 1e-5, logit_scale: 0 },
  };
  const fromGguf = (architecture: Architecture, ...names: readonly string[]) => {
    const tensor = { shape: [1], format: 'f32', bytes: { path: 'm', offset: 0, byteLength: 4 } } as const;
    const tensors = new Map(names.map((name) => [name, { ...tensor, name }]));
    const settings = new Settings('m.gguf', ownValue(metadata));
    const file = { naming: 'gguf', paths: ['m.gguf'], tensors } as const;
    return architecture.configFromGguf({ settings, weights: file, tokens: 16, ropeFactors: undefined });
  };
  expect(fromGguf(commandR)).toMatchObject({ logitFactor: 1, rope: { layout: 'interleaved' } });
  expect(() => fromGguf(commandR, 'blk.0.attn_q_norm.weight')).toThrow(/block_count is 4: .*Command-R\+/);
  expect(() => fromGguf(cohere2)).toThrow(/attention\.sliding_window is missing/);
});

test('gpt-oss: every layer has experts, also where a file lacks a router; even layers have a window', () => {
  const metadata = {
    ...{ embedding_length: 32, block_count: 2, context_length: 64, feed_forward_length: 64, vocab_size: 16 },
    ...{ 'attention.head_count': 4, 'attention.layer_norm_rms_epsilon': 1e-5, 'attention.sliding_window': 8 },
    ...{ expert_count: 4, expert_used_count: 2 },
  };
  const settings = new Settings('m.gguf', ownValue(metadata));
  const file = { naming: 'gguf', paths: ['m.gguf'], tensors: new Map() } as const;
  const config = gptOss.configFromGguf({ settings, weights: file, tokens: 16, ropeFactors: undefined });
  expect(config).toMatchObject({ windows: [8, 0], mixture: { sparse: [true, true], renormalise: true } });
});

test('OLMo 2 and 3: RoPE is scaled in layers with full attention alone', () => {
  const rope_scaling = { rope_type: 'yarn', factor: 8, original_max_position_embeddings: 8 };
  const [plain, three] = [read(olmo2, { rope_scaling }), read(olmo3, { rope_scaling })];
  expect(plain).toMatchObject({ normEps: 1e-5, windows: [0, 0, 0, 0], rope: { scaling: { factor: 8 } } });
  expect(plain.windowRope).toBeUndefined();
  expect(three).toMatchObject({ windows: [4096, 4096, 4096, 0], rope: { scaling: { factor: 8 } } });
  expect(three.windowRope).toEqual({ theta: 10_000, layout: 'halves' });
  expect(read(olmo3, {}).windowRope).toBeUndefined();
  const perKind = { full_attention: rope_scaling, sliding_attention: { rope_type: 'default' } };
  expect(read(olmo3, { rope_parameters: perKind }).windowRope).toEqual(three.windowRope);
});

test('a GGUF file whose last layers predict further tokens is refused by name', async () => {
  const path = await writeLlama('nextn.gguf', { metadata: { 'llama.nextn_predict_layers': 1 } });
  await expect(openModelFile(path)).rejects.toMatchObject({
    code: 'UNSUPPORTED_CONFIG',
    message: expect.stringContaining('llama.nextn_predict_layers is 1'),
  });
});

test('Qwen3-VL: the tower’s tensors are no tensors of the language model', () => {
  const tensor = { shape: [1], format: 'f32', bytes: { path: 'm', offset: 0, byteLength: 4 } } as const;
  const names = ['model.visual.patch_embed.proj.weight', 'model.language_model.norm.weight'];
  const tensors = new Map(names.map((name) => [name, { ...tensor, name }]));
  expect([...qwen3Vl.rename({ ...weights, tensors }).tensors.keys()]).toEqual(['model.norm.weight']);
});

test.each<[string, Architecture, object, RegExp]>([
  [
    'a list of another length',
    smolLm3,
    { no_rope_layers: [1, 1] },
    /^BAD_CONFIG: .*no_rope_layers.*4 layers/,
  ],
  ['a flag that is neither', smolLm3, { no_rope_layers: [1, 1, 2, 1] }, /^BAD_CONFIG: .*no_rope_layers/],
  ['a period of 0', smolLm3, { no_rope_layer_interval: 0 }, /^BAD_CONFIG: .*no_rope_layer_interval/],
  [
    'letters of no kind of layer',
    exaone4,
    { sliding_window: 16, sliding_window_pattern: 'LLX' },
    /^BAD_CONFIG: .*sliding_window_pattern/,
  ],
  [
    'more coordinates than four',
    qwen3Vl,
    { text_config: { ...small, rope_scaling: { rope_type: 'default', mrope_section: [1, 1, 1, 1, 1] } } },
    /^BAD_CONFIG: .*mrope_section/,
  ],
  ['a window of 0', exaone4, { sliding_window: 0 }, /^BAD_CONFIG: .*sliding_window/],
  [
    'LayerNorms of heads',
    stableLm,
    { qk_layernorm: true },
    /^UNSUPPORTED_CONFIG: .*qk_layernorm.*StableLM 2 12B/,
  ],
  ['LayerNorms of heads', phi2, { qk_layernorm: true }, /^UNSUPPORTED_CONFIG: .*qk_layernorm/],
  [
    'an activation of another model',
    phi2,
    { hidden_act: 'relu' },
    /^UNSUPPORTED_CONFIG: .*hidden_act.*gelu_new/,
  ],
  [
    'scores without a factor',
    gpt2,
    { ...sizesOfGpt2, scale_attn_weights: false },
    /^UNSUPPORTED_CONFIG: .*scale_attn_weights/,
  ],
  [
    'another factor per layer',
    gpt2,
    { ...sizesOfGpt2, scale_attn_by_inverse_layer_idx: true },
    /^UNSUPPORTED_CONFIG: .*inverse_layer_idx/,
  ],
  [
    'an activation of another model',
    gpt2,
    { ...sizesOfGpt2, activation_function: 'relu' },
    /^UNSUPPORTED_CONFIG: .*activation_function.*gelu_new/,
  ],
  [
    'an activation of another model',
    gptNeoX,
    { hidden_size: 64, hidden_act: 'silu' },
    /^UNSUPPORTED_CONFIG: .*hidden_act/,
  ],
  ['more than the whole head', gptNeoX, { rotary_pct: 1.5 }, /^BAD_CONFIG: .*partial_rotary_factor/],
  ['a bias by distance', falcon, { alibi: true }, /^UNSUPPORTED_CONFIG: .*alibi/],
  ['biases', falcon, { bias: true }, /^UNSUPPORTED_CONFIG: .*bias/],
  ['blocks one after the other', falcon, { parallel_attn: false }, /^UNSUPPORTED_CONFIG: .*parallel_attn/],
  [
    'three norms',
    falcon,
    { new_decoder_architecture: true, num_ln_in_parallel_attn: 3 },
    /^BAD_CONFIG: .*num_ln_in_parallel_attn/,
  ],
  ['Command-R+', commandR, { use_qk_norm: true }, /^UNSUPPORTED_CONFIG: .*use_qk_norm.*Command-R\+/],
  ['a part of heads that rotates', cohere2, { rotary_pct: 0.5 }, /^UNSUPPORTED_CONFIG: .*rotary_pct/],
  ['no window', cohere2, { sliding_window: null }, /^BAD_CONFIG: .*sliding_window/],
  ['a factor of 0', commandR, { logit_scale: 0 }, /^BAD_CONFIG: .*logit_scale/],
  ['clipped values', olmo2, { clip_qkv: 8 }, /^UNSUPPORTED_CONFIG: .*clip_qkv/],
  ['an epsilon of 0', phi2, { layer_norm_eps: 0 }, /^BAD_CONFIG: .*layer_norm_eps/],
])('%s is refused: %#', (_name, architecture, json, message) => {
  expect(refusal(architecture, json)).toMatch(message);
});

const withStates = (architecture: Architecture, metadata: object) => {
  const sizes = {
    ...{ embedding_length: 32, block_count: 4, context_length: 64, feed_forward_length: 64, vocab_size: 16 },
    ...{ 'attention.head_count': 4, 'attention.head_count_kv': 2, 'attention.layer_norm_rms_epsilon': 1e-5 },
  };
  const settings = new Settings('m.gguf', ownValue({ ...sizes, ...metadata }));
  const file = { naming: 'gguf', paths: ['m.gguf'], tensors: new Map() } as const;
  return architecture.configFromGguf({ settings, weights: file, tokens: 16, ropeFactors: undefined });
};
const states = ({ layerStates }: DecoderConfig) => layerStates!.map((state) => state?.kind === 'state');

test('LFM2: layers without kv heads have a convolution; lists that cannot be are refused', () => {
  const gguf = (kvHeads: readonly number[], more: object = {}) =>
    withStates(lfm2, { 'attention.head_count_kv': kvHeads, 'shortconv.l_cache': 3, ...more });
  expect(states(gguf([0, 2, 0, 2]))).toEqual([true, false, true, false]);
  const expected = /attention\.head_count_kv.*expected a number for each of 4 layers, not all 0/;
  expect(() => gguf([0, 0, 0, 0])).toThrow(expected);
  expect(() => gguf([0, 2, 0])).toThrow(expected);
  expect(() => gguf(new Array(300_000).fill(2))).toThrow(expected);
  expect(() => gguf([0, 2, 0, 2], { 'shortconv.l_cache': 1 })).toThrow(/shortconv\.l_cache is 1/);
  const base = { block_auto_adjust_ff_dim: false };
  expect(states(read(lfm2, { ...base, full_attn_idxs: [2] }))).toEqual([true, true, false, true]);
  const full = read(lfm2, { ...base, layer_types: ['conv', 'conv', 'conv', 'full_attention'] });
  expect(states(full)).toEqual([true, true, true, false]);
  expect(refusal(lfm2, { ...base, full_attn_idxs: [] })).toMatch(/full_attn_idxs/);
  expect(refusal(lfm2, { ...base, layer_types: new Array(4).fill('conv') })).toMatch(
    /the latter at least once/,
  );
  expect(refusal(lfm2, { ...base, full_attn_idxs: [2], conv_bias: true })).toMatch(/conv_bias/);
});

test('Qwen3.5: which layers have a delta rule; sizes that do not divide are refused', () => {
  const sizes = { 'ssm.conv_kernel': 4, 'ssm.state_size': 8, 'ssm.group_count': 2, 'ssm.time_step_rank': 4 };
  const gguf = (more: object) => withStates(qwen35, { ...sizes, 'ssm.inner_size': 32, ...more });
  expect(states(gguf({}))).toEqual([true, true, true, false]);
  const key = 'attention.recurrent_layers';
  expect(states(gguf({ [key]: [false, true, true, false] }))).toEqual([false, true, true, false]);
  expect(() => gguf({ [key]: [true, false] })).toThrow(/recurrent_layers.*a flag for each of 4 layers/);
  expect(() => gguf({ [key]: [true, true, true, true] })).toThrow(/a layer with attention at least/);
  expect(() => gguf({ full_attention_interval: 5 })).toThrow(/a layer with attention at least/);
  expect(() => gguf({ 'ssm.time_step_rank': 5 })).toThrow(/a multiple of ssm\.group_count, which is 2/);
  expect(() => gguf({ 'ssm.inner_size': 33 })).toThrow(/a multiple of ssm\.time_step_rank, which is 4/);
  expect(refusal(qwen35, { layer_types: ['linear_attention'] })).toMatch(
    /4 times linear_attention or full_attention/,
  );
  expect(refusal(qwen35, { linear_num_value_heads: 24 })).toMatch(
    /a multiple of linear_num_key_heads, which is 16/,
  );
  expect(refusal(qwen3Next, { model_type: 'qwen3_next' })).toMatch(/reads Qwen3-Next from GGUF files/);
});
