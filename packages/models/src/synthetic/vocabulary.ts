import type { MetadataInput } from '@quern/quant';

/** GPT-2's printable character per byte: printable Latin-1 unchanged, other bytes from U+0100 on. */
export function byteCharacters(): string[] {
  const printable = (b: number) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(printable(b) ? b : next++));
}

/** A byte-level vocabulary of true size: 256 byte tokens (they encode any text), filler, and an end-of-text token. */
export function syntheticVocabulary(size: number, pre: string): Record<string, MetadataInput> {
  const bytes = byteCharacters();
  const tokens = Array.from({ length: size }, (_, id) => bytes[id] ?? `⟨${id}⟩`);
  const end = size - 1;
  tokens[end] = '<|endoftext|>';
  const types = new Int32Array(size).fill(1);
  types[end] = 3;
  return {
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': pre,
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': types,
    'tokenizer.ggml.merges': { type: 'array', value: [] },
    'tokenizer.ggml.eos_token_id': end,
    'tokenizer.ggml.add_bos_token': false,
  };
}
