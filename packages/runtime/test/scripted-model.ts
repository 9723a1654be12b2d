import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TensorInput, writeGguf } from '@quern/quant';

const CONTROL = 3;
const NORMAL = 1;
const letters = Array.from({ length: 0x7f - 0x21 }, (_, i) => String.fromCharCode(0x21 + i));

/** What a scripted model is told with: ends of prompts lead to the first piece. */
const start = '¶';

/** Messages and tools, then what leads to the script. Announces the calls of Hermes. */
const template = `{# <tool_call> #}{% for m in messages %}{{ m.content }}{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}${start}`;

/** A matrix [rows, columns] with `value` at the given places, zero elsewhere. */
function matrix(
  name: string,
  [rows, columns]: readonly [number, number],
  places: readonly (readonly [number, number])[] = [],
  value = 1,
): TensorInput {
  const values = new Float32Array(rows * columns);
  for (const [row, column] of places) values[row * columns + column] = value;
  return { name, shape: [rows, columns], format: 'f32', data: new Uint8Array(values.buffer) };
}

const ones = (name: string, width: number): TensorInput => ({
  name,
  shape: [width],
  format: 'f32',
  data: new Uint8Array(new Float32Array(width).fill(1).buffer),
});

/**
 * Writes a Llama that says `pieces`, each a token, one after the other, and then ends; without a grammar nothing else is
 * likely. Embeddings are one-hot, layers add nothing, and the output matrix leads from a token to the next one.
 * `controls` are those of the pieces that are control tokens.
 */
export async function writeScriptedModel(
  pieces: readonly string[],
  { controls = [], context = 512 }: { controls?: readonly string[]; context?: number } = {},
): Promise<string> {
  const spelled = [...new Set([...controls, ...pieces, start, '▁', '\n', ...letters])];
  const tokens = ['<unk>', '<s>', '</s>', ...spelled.map((piece) => piece.replaceAll(' ', '▁'))];
  const idOf = (piece: string) => tokens.indexOf(piece.replaceAll(' ', '▁'));
  const script = [idOf(start), ...pieces.map(idOf), 2];
  const width = tokens.length + (tokens.length % 2);
  const square = [width, width] as const;
  const folder = mkdtempSync(join(tmpdir(), 'quern-scripted-'));
  const path = join(folder, 'scripted.gguf');
  await writeGguf(path, {
    metadata: {
      'general.architecture': 'llama',
      'llama.block_count': 1,
      'llama.context_length': context,
      'llama.embedding_length': width,
      'llama.feed_forward_length': 2,
      'llama.attention.head_count': 1,
      'llama.attention.head_count_kv': 1,
      'llama.attention.layer_norm_rms_epsilon': { type: 'float32', value: 1e-5 },
      'tokenizer.ggml.model': 'llama',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.scores': Float32Array.from(tokens, (token) => token.length),
      'tokenizer.ggml.token_type': Int32Array.from(tokens, (token, id) =>
        id < 3 || controls.includes(token) ? CONTROL : NORMAL,
      ),
      'tokenizer.ggml.add_space_prefix': false,
      'tokenizer.chat_template': template,
    },
    tensors: [
      matrix(
        'token_embd.weight',
        [tokens.length, width],
        tokens.map((_, id) => [id, id]),
      ),
      ones('blk.0.attn_norm.weight', width),
      ...['q', 'k', 'v', 'output'].map((part) => matrix(`blk.0.attn_${part}.weight`, square)),
      ones('blk.0.ffn_norm.weight', width),
      matrix('blk.0.ffn_gate.weight', [2, width]),
      matrix('blk.0.ffn_up.weight', [2, width]),
      matrix('blk.0.ffn_down.weight', [width, 2]),
      ones('output_norm.weight', width),
      matrix(
        'output.weight',
        [tokens.length, width],
        script.slice(1).map((next, i) => [next, script[i]!] as const),
        2,
      ),
    ],
  });
  return path;
}
