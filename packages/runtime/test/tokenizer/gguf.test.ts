import { tokenizerFromGguf } from '../../src/tokenizer/index.js';
import { testWithShared } from './shared-data.js';
import { ggufTokenizer, qwen2Tokenizer } from './vocabularies.js';

const metadata = (fields: Record<string, unknown>) =>
  new Map(Object.entries(fields).map(([key, value]) => [`tokenizer.ggml.${key}`, value]));
const spm = {
  model: 'llama',
  tokens: ['<unk>', '<s>', '</s>', '▁a', 'a', '▁', 'b', '<|im_end|>', '[USER]', 'ab'],
  token_type: Int32Array.of(2, 3, 3, 1, 1, 1, 1, 4, 4, 1),
  scores: Float32Array.of(0, 0, 0, -1, -3, -2, -4, 0, 0, -0.5),
};
const bpe = { model: 'gpt2', pre: 'gpt-2', tokens: ['a', 'b', 'ab', 'Ġ', 'abb'], merges: ['a b'] };
const load = (fields: Record<string, unknown>) => tokenizerFromGguf(metadata(fields));

describe('special tokens', () => {
  test('SentencePiece defaults: bos first, a space before the text and after a special token', () => {
    const tokenizer = load(spm);
    expect(tokenizer.addBos).toBe(true);
    expect(tokenizer.encode('a')).toEqual([1, 3]);
    expect(tokenizer.encode('a', { addBos: false, addEos: true })).toEqual([3, 2]);
    expect(tokenizer.encode('ab</s>a', { special: 'parse', addBos: false })).toEqual([5, 9, 2, 3]);
    expect(tokenizer.encode('', { addBos: false })).toEqual([]);
  });

  test('control tokens are text unless parsed; user-defined tokens are always tokens', () => {
    const tokenizer = load(spm);
    expect(tokenizer.encode('[USER]b', { addBos: false })).toEqual([8, 5, 6]);
    expect(tokenizer.encode('</s>', { addBos: false })).toEqual([5, 0, 0, 0, 0]); // ▁ and 4 unknown characters
  });

  test('an end-of-turn token ends generation, also if user-defined', () => {
    const tokenizer = load(spm);
    expect([...tokenizer.eog].sort()).toEqual([2, 7]);
    expect(tokenizer.isControl(7)).toBe(true);
    expect(tokenizer.isControl(8)).toBe(false);
    expect([...load({ ...spm, eot_token_id: 8 }).eog].sort()).toEqual([2, 7, 8]);
  });

  test('the file’s settings override defaults', () => {
    const tokenizer = load({
      ...spm,
      add_bos_token: false,
      add_space_prefix: false,
      eos_token_id: 1,
      bos_token_id: 2,
    });
    expect(tokenizer.encode('a')).toEqual([4]);
    expect(tokenizer.decode([3])).toBe(' a');
    expect([tokenizer.bos, tokenizer.eos]).toEqual([2, 1]);
  });

  test('4294967295 means: no such token', () => {
    expect(load({ ...spm, bos_token_id: 4294967295 }).bos).toBe(1);
    expect(load({ ...bpe, bos_token_id: 4294967295 }).bos).toBeUndefined();
  });

  testWithShared('real files', async () => {
    const llama = await ggufTokenizer('llamacpp-vocab/ggml-vocab-llama-spm.gguf');
    expect([llama.vocabSize, llama.bos, llama.eos, [...llama.eog]]).toEqual([32000, 1, 2, [2]]);
    const qwen = qwen2Tokenizer();
    const end = qwen.encode('<|im_end|>', { special: 'parse' });
    expect(end.length).toBe(1);
    expect(qwen.encode('<|im_end|>').length).toBeGreaterThan(1);
    expect(qwen.eog).toEqual(new Set([end[0], ...qwen.encode('<|endoftext|>', { special: 'parse' })]));
    const stories = await ggufTokenizer('llama-stories260K/stories260K.gguf');
    expect(stories.decode(stories.encode('Once upon a time'))).toBe('Once upon a time');
    const tiny = await ggufTokenizer('tiny-hf/tiny_llama_f32.gguf'); // no types, scores or special tokens
    expect(tiny.vocabSize).toBe(11);
  });
});

describe('byte-level BPE', () => {
  test('merges by rank; an unknown symbol becomes its bytes', () => {
    expect(load(bpe).encode('ab')).toEqual([2]);
    expect(load({ ...bpe, tokens: ['a', 'b', 'x', 'Ġ'] }).encode('ab')).toEqual([0, 1]);
    expect(load(bpe).encode('a a')).toEqual([0, 3, 0]);
  });

  test('a word that is a token: llama-bpe takes it whole, gpt-2 merges', () => {
    expect(load(bpe).encode('abb')).toEqual([2, 1]);
    expect(load({ ...bpe, pre: 'llama-bpe', bos_token_id: 3 }).encode('abb')).toEqual([3, 4]);
  });
});

describe('refusals', () => {
  const refusal = (code: string, ...parts: string[]) =>
    expect.objectContaining({
      name: 'TokenizerError',
      code,
      message: expect.stringMatching(parts.map((part) => part.replace(/[.[\]]/g, '\\$&')).join('.*')),
    });

  test.each<[string, Record<string, unknown>, ReturnType<typeof refusal>]>([
    ['an unknown model', { ...bpe, model: 'rwkv' }, refusal('UNKNOWN_TOKENIZER', 'rwkv', 'llama, gpt2')],
    ['constructor', { ...bpe, model: 'constructor' }, refusal('UNKNOWN_TOKENIZER', 'constructor')],
    [
      'an unknown pre-tokenizer',
      { ...bpe, pre: 'new-one' },
      refusal('UNKNOWN_PRETOKENIZER', 'new-one', 'gpt-2', 'qwen2'),
    ],
    ['no model', { tokens: ['a'] }, refusal('BAD_VOCABULARY', 'tokenizer.ggml.model is missing')],
    ['no tokens', { model: 'llama' }, refusal('BAD_VOCABULARY', 'no vocabulary')],
    [
      'tokens of wrong type',
      { ...bpe, tokens: [1, 2] },
      refusal('BAD_VOCABULARY', 'not an array of strings'),
    ],
    ['no merges', { ...bpe, merges: undefined }, refusal('BAD_VOCABULARY', 'merges is missing')],
    [
      'too few scores',
      { ...spm, scores: [1, 2] },
      refusal('BAD_VOCABULARY', 'scores has 2 entries', '10 tokens'),
    ],
    [
      'eos out of range',
      { ...spm, eos_token_id: 99 },
      refusal('BAD_VOCABULARY', 'eos_token_id is 99', '0 to 9'),
    ],
    [
      'a broken normaliser',
      { ...spm, model: 't5', precompiled_charsmap: [255, 0, 0, 0] },
      refusal('BAD_VOCABULARY', '255 bytes'),
    ],
  ])('%s', (_, fields, error) => {
    expect(() => load(fields)).toThrow(error);
  });

  test('text that the vocabulary cannot spell', () => {
    const tokens = ['a', '▁'];
    expect(() => load({ model: 'llama', tokens, token_type: [1, 1] }).encode('b')).toThrow(
      refusal('BAD_VOCABULARY', 'no token for "b"'),
    );
  });
});
