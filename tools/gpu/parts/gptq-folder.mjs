// A Llama in Hugging Face's layout with GPTQ weights of 4 bits in groups of 128: true cost, meaningless output.
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const group = 128;
const bits = 4;
const perWord = 32 / bits;

const dense = (shape) => ({ dtype: 'BF16', shape, bytes: 2 * shape.reduce((a, b) => a * b) });

/** The tensors of a matrix [N, K]. */
const quantised = (name, [N, K]) => ({
  [`${name}.qweight`]: { dtype: 'I32', shape: [K / perWord, N], bytes: (N * K) / 2 },
  [`${name}.qzeros`]: { dtype: 'I32', shape: [K / group, N / perWord], bytes: (K / group) * (N / 2) },
  [`${name}.scales`]: { dtype: 'F16', shape: [K / group, N], bytes: 2 * (K / group) * N },
});

function tensorsOf({ layers, width, heads, kvHeads, headDim, feedForward, vocabulary }) {
  const q = heads * headDim;
  const kv = kvHeads * headDim;
  const tensors = {
    'model.embed_tokens.weight': dense([vocabulary, width]),
    'model.norm.weight': dense([width]),
    'lm_head.weight': dense([vocabulary, width]),
  };
  const matrices = {
    'self_attn.q_proj': [q, width],
    'self_attn.k_proj': [kv, width],
    'self_attn.v_proj': [kv, width],
    'self_attn.o_proj': [width, q],
    'mlp.gate_proj': [feedForward, width],
    'mlp.up_proj': [feedForward, width],
    'mlp.down_proj': [width, feedForward],
  };
  for (let i = 0; i < layers; i++) {
    const layer = `model.layers.${i}`;
    for (const norm of ['input_layernorm', 'post_attention_layernorm'])
      tensors[`${layer}.${norm}.weight`] = dense([width]);
    for (const [stem, shape] of Object.entries(matrices))
      Object.assign(tensors, quantised(`${layer}.${stem}`, shape));
  }
  return tensors;
}

const configOf = (shape) => ({
  architectures: ['LlamaForCausalLM'],
  hidden_size: shape.width,
  num_hidden_layers: shape.layers,
  num_attention_heads: shape.heads,
  num_key_value_heads: shape.kvHeads,
  head_dim: shape.headDim,
  intermediate_size: shape.feedForward,
  vocab_size: shape.vocabulary,
  max_position_embeddings: shape.context,
  rope_theta: shape.theta,
  rms_norm_eps: shape.normEps,
  tie_word_embeddings: false,
  quantization_config: { quant_method: 'gptq', bits, group_size: group, desc_act: false, sym: true },
});

const poolBytes = 1 << 24;

/** Bytes of a tensor type: words of 4-bit numbers, bf16 from ±0.01 to ±0.03, f16 scales of 0.004. */
function poolOf(dtype) {
  const words = new Uint32Array(poolBytes / 4);
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
  const bf16 = () => 0x3c20 + (random() & 0x80d0);
  const make = {
    I32: () => (random() << 16) ^ random(),
    BF16: () => (bf16() << 16) | bf16(),
    F16: () => 0x1c181c18,
  };
  for (let i = 0; i < words.length; i++) words[i] = make[dtype]();
  return Buffer.from(words.buffer);
}

/** Writes the folder for a shape, as in modelShapes of @quern/runtime. */
export function writeGptqFolder(folder, shape) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(configOf(shape)));
  const tensors = Object.entries(tensorsOf(shape));
  let end = 0;
  const header = tensors.map(([name, { dtype, shape: dims, bytes }]) => {
    end += bytes;
    return [name, { dtype, shape: dims, data_offsets: [end - bytes, end] }];
  });
  const text = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const pools = { I32: poolOf('I32'), BF16: poolOf('BF16'), F16: poolOf('F16') };
  const file = openSync(join(folder, 'model.safetensors'), 'w');
  try {
    for (const bytes of [length, text]) writeSync(file, bytes);
    for (const [, { dtype, bytes }] of tensors)
      for (let left = bytes; left > 0; left -= poolBytes)
        writeSync(file, pools[dtype], 0, Math.min(left, poolBytes));
  } finally {
    closeSync(file);
  }
}
