// The demo model as a Hugging Face folder. JavaScript, because tools/bench/written-files.mjs also uses it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal } from '@quern/core/testing';
import { demoModelPath } from '@quern/demo-model';
import { llamaWeights } from '@quern/models';
import { decode, openGguf } from '@quern/quant';
import { writeSafetensors } from './safetensors.mjs';

const headDim = 32;

/** Writes config.json, model.safetensors and the tokenizer's files into `folder`; the weights as F32. */
export async function writeDemoFolder(folder) {
  const file = await openGguf(demoModelPath);
  const { metadata } = file;
  const json = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value));
  const of = (key) => metadata.get(`llama.${key}`);
  json('config.json', {
    architectures: ['LlamaForCausalLM'],
    hidden_size: of('embedding_length'),
    intermediate_size: of('feed_forward_length'),
    num_hidden_layers: of('block_count'),
    num_attention_heads: of('attention.head_count'),
    num_key_value_heads: of('attention.head_count_kv'),
    vocab_size: of('vocab_size'),
    max_position_embeddings: of('context_length'),
    rms_norm_eps: of('attention.layer_norm_rms_epsilon'),
    rope_theta: of('rope.freq_base'),
    tie_word_embeddings: !file.tensors.some(({ name }) => name === 'output.weight'),
  });
  writeTokenizer(metadata, json);
  writeSafetensors(join(folder, 'model.safetensors'), file.tensors.map(huggingFaceTensor));
}

function writeTokenizer(metadata, json) {
  const of = (key) => metadata.get(`tokenizer.ggml.${key}`);
  const tokens = of('tokens');
  const specials = [...tokens.entries()].filter(([id]) => of('token_type')[id] === 3);
  json('tokenizer.json', {
    added_tokens: specials.map(([id, content]) => ({ id, content, special: true })),
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: of('merges').map((merge) => merge.split(' ')),
    },
  });
  json('tokenizer_config.json', {
    bos_token: tokens[of('bos_token_id')],
    eos_token: tokens[of('eos_token_id')],
    add_bos_token: of('add_bos_token'),
    chat_template: metadata.get('tokenizer.chat_template'),
  });
  json('generation_config.json', { eos_token_id: [of('eos_token_id'), of('eot_token_id')] });
}

/**
 * Writes a folder of another architecture (`qwen2` or `qwen3` of @quern/models) with random weights and the demo's
 * vocabulary. `sizes` are all that Qwen's weight tables read.
 */
export async function writeRandomFolder(folder, { names, weights }) {
  await writeDemoFolder(folder);
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  const sizes = {
    width: config.hidden_size,
    heads: config.num_attention_heads,
    kvHeads: config.num_key_value_heads,
    headDim,
    feedForward: config.intermediate_size,
    vocabulary: config.vocab_size,
    tied: true,
  };
  const changed = { architectures: [names.huggingFace[0]], head_dim: headDim, tie_word_embeddings: true };
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, ...changed }));
  const layers = Array.from({ length: config.num_hidden_layers }, (_, i) =>
    Object.entries(weights.layer).map(([field, entry]) => [field, entry, i]),
  );
  const wanted = [...Object.entries(weights.model), ...layers.flat()].filter(
    ([, entry]) => !entry.optional && (entry.when?.(sizes) ?? true),
  );
  writeSafetensors(
    join(folder, 'model.safetensors'),
    wanted.map(([field, entry, i], seed) => {
      const shape = entry.shape(sizes);
      const values = Float32Array.from(normal(seed + 1, shape, field === 'embedding' ? 1 : 0.15).values);
      if (field.endsWith('Norm')) values.fill(1);
      return { name: entry.huggingFace.replace('{i}', i), shape, values };
    }),
  );
}

const entries = [...Object.values(llamaWeights.model), ...Object.values(llamaWeights.layer)];

function huggingFaceTensor({ name, shape, format, path, offset, byteLength }) {
  const layer = /^blk\.(\d+)\./.exec(name)?.[1] ?? '';
  const entry = entries.find(({ gguf }) => gguf.replace('{i}', layer) === name);
  const values = new Float32Array(shape.reduce((count, size) => count * size, 1));
  decode(format, readFileSync(path).subarray(offset, offset + byteLength), 0, values, 0, values.length);
  const rotates = /attn_[qk]\.weight$/.test(name);
  return {
    name: entry.huggingFace.replace('{i}', layer),
    shape,
    values: rotates ? inHalves(values, shape.at(-1)) : values,
  };
}

/** Reorders the rows of heads: 'interleaved' (neighbours rotate together) → 'halves' (rows p and p + d / 2). */
function inHalves(values, rowLength) {
  const result = new Float32Array(values.length);
  for (let row = 0; row < values.length / rowLength; row++) {
    const [head, p] = [Math.floor(row / headDim), row % headDim];
    const to = head * headDim + (p % 2 === 0 ? p / 2 : (p - 1) / 2 + headDim / 2);
    result.set(values.subarray(row * rowLength, (row + 1) * rowLength), to * rowLength);
  }
  return result;
}
