import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normal } from '@quern/core/testing';
import { type MetadataInput, type TensorInput, writeGguf } from '@quern/quant';

/** A random Llama; a step takes a millisecond on any machine. */
export const tiny = {
  layers: 2,
  width: 16,
  heads: 2,
  kvHeads: 1,
  headDim: 8,
  feedForward: 24,
  context: 96,
} as const;

const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
const pieces = ['▁', '.', ',', '▁the', '▁a', ...letters, ...letters.map((letter) => `▁${letter}`)];
const tokens = ['<unk>', '<s>', '</s>', ...pieces];

export const tinyVocabulary = tokens.length;

const template = '{% for m in messages %}{{ m.role }}: {{ m.content }}. {% endfor %}{{ "bot:" }}';

const metadata = (
  withChat: boolean,
  spellings: readonly string[],
  name: string,
): Record<string, MetadataInput> => ({
  'general.architecture': name,
  [`${name}.block_count`]: tiny.layers,
  [`${name}.context_length`]: tiny.context,
  [`${name}.embedding_length`]: tiny.width,
  [`${name}.feed_forward_length`]: tiny.feedForward,
  [`${name}.attention.head_count`]: tiny.heads,
  [`${name}.attention.head_count_kv`]: tiny.kvHeads,
  [`${name}.attention.layer_norm_rms_epsilon`]: { type: 'float32', value: 1e-5 },
  'tokenizer.ggml.model': 'llama',
  'tokenizer.ggml.tokens': [...spellings],
  'tokenizer.ggml.scores': Float32Array.from(spellings, (token) => token.length),
  'tokenizer.ggml.token_type': Int32Array.from(spellings, (_, id) => [2, 3, 3][id] ?? 1),
  ...(withChat && { 'tokenizer.chat_template': template }),
});

function tensors(firstSeed: number): TensorInput[] {
  let seed = firstSeed;
  const matrix = (name: string, rows: number, columns: number): TensorInput => {
    const values = normal(seed++, [rows, columns], 1.5 / Math.sqrt(columns)).values as Float32Array;
    return { name, shape: [rows, columns], format: 'f32', data: new Uint8Array(values.buffer) };
  };
  const norm = (name: string): TensorInput => {
    const ones = new Float32Array(tiny.width).fill(1);
    return { name, shape: [tiny.width], format: 'f32', data: new Uint8Array(ones.buffer) };
  };
  const { width, heads, kvHeads, headDim, feedForward } = tiny;
  const layer = (i: number) => [
    norm(`blk.${i}.attn_norm.weight`),
    matrix(`blk.${i}.attn_q.weight`, heads * headDim, width),
    matrix(`blk.${i}.attn_k.weight`, kvHeads * headDim, width),
    matrix(`blk.${i}.attn_v.weight`, kvHeads * headDim, width),
    matrix(`blk.${i}.attn_output.weight`, width, heads * headDim),
    norm(`blk.${i}.ffn_norm.weight`),
    matrix(`blk.${i}.ffn_gate.weight`, feedForward, width),
    matrix(`blk.${i}.ffn_up.weight`, feedForward, width),
    matrix(`blk.${i}.ffn_down.weight`, width, feedForward),
  ];
  return [
    matrix('token_embd.weight', tinyVocabulary, width),
    ...Array.from({ length: tiny.layers }, (_, i) => layer(i)).flat(),
    norm('output_norm.weight'),
    matrix('output.weight', tinyVocabulary, width),
  ];
}

/** Writes the model to its own folder. `seed` changes the weights; `spell` changes tokens of the vocabulary; `architecture`: its name. */
export async function writeTinyModel({
  chat = true,
  seed = 1,
  spell = (token: string) => token,
  architecture = 'llama',
} = {}): Promise<string> {
  const path = join(mkdtempSync(join(tmpdir(), 'quern-tiny-')), 'tiny.gguf');
  await writeGguf(path, {
    metadata: metadata(chat, tokens.map(spell), architecture),
    tensors: tensors(seed),
  });
  return path;
}
