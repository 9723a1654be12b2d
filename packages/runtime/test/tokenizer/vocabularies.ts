import { openGguf } from '@quern/quant';
import { type Tokenizer, tokenizerFromGguf } from '../../src/tokenizer/index.js';
import { shared, sharedText } from './shared-data.js';

/** The tokenizer of a GGUF file in the shared data. */
export async function ggufTokenizer(path: string): Promise<Tokenizer> {
  return tokenizerFromGguf((await openGguf(shared(path))).metadata);
}

const CONTROL = 3;
const NORMAL = 1;

/** Qwen2's vocabulary as in a GGUF file: vocab.json, then its control tokens. */
export function qwen2Tokenizer(): Tokenizer {
  const vocab: Record<string, number> = JSON.parse(sharedText('tokenizers/qwen2-internvl2/vocab.json'));
  const tokens: string[] = [];
  for (const [spelling, id] of Object.entries(vocab)) tokens[id] = spelling;
  const types = tokens.map(() => NORMAL);
  for (const special of ['<|endoftext|>', '<|im_start|>', '<|im_end|>'])
    types[tokens.push(special) - 1] = CONTROL;
  const merges = sharedText('tokenizers/qwen2-internvl2/merges.txt').split('\n').slice(1);
  return tokenizerFromGguf(
    new Map<string, unknown>([
      ['tokenizer.ggml.model', 'gpt2'],
      ['tokenizer.ggml.pre', 'qwen2'],
      ['tokenizer.ggml.tokens', tokens],
      ['tokenizer.ggml.token_type', types],
      ['tokenizer.ggml.merges', merges.filter(Boolean)],
      ['tokenizer.ggml.eos_token_id', tokens.indexOf('<|im_end|>')],
    ]),
  );
}

/** llama.cpp's .inp/.out pairs: texts and their ids. */
export function llamaCppCases(name: string): { text: string; ids: number[] }[] {
  const texts = sharedText(`llamacpp-vocab/ggml-vocab-${name}.gguf.inp`).split('\n__ggml_vocab_test__\n');
  const lines = sharedText(`llamacpp-vocab/ggml-vocab-${name}.gguf.out`).split('\n');
  return texts.map((text, i) => ({ text, ids: (lines[i]!.match(/\d+/g) ?? []).map(Number) }));
}
