import { openGguf } from '@quern/quant';
import { tokenizerFromGguf } from '../../src/index.js';
import { shared, testWithShared } from './shared-data.js';

// Flags of added tokens in GGUF files of other converters: known by the names of models.

const [NORMAL, CONTROL, USER] = [1, 3, 4];

const small = new Map<string, unknown>([
  ['tokenizer.ggml.model', 'llama'],
  [
    'tokenizer.ggml.tokens',
    ['<unk>', '<s>', '</s>', '▁', 'a', '▁a', '\n', '<|user|>', '<|end|>', '<|tool|>'],
  ],
  ['tokenizer.ggml.token_type', [2, 3, 3, NORMAL, NORMAL, NORMAL, NORMAL, CONTROL, CONTROL, USER]],
  ['tokenizer.ggml.scores', [0, 0, 0, -2, -2, -1, -2, 0, 0, 0]],
]);

const encode = (entries: Record<string, unknown>, text: string, special: 'parse' | 'text' = 'parse') =>
  tokenizerFromGguf(new Map([...small, ...Object.entries(entries)])).encode(text, { special, addBos: false });

const prompt = '<|user|>\na<|end|>\n<|user|> \n';

test.each([
  { 'general.name': 'Phi3' },
  { 'general.name': 'Phi-3-mini-4k-instruct' },
  { 'general.name': 'Phi 3.5 mini instruct' },
  { 'general.architecture': 'phi3', 'general.name': 'A fine-tuned one' },
])('Phi-3: white space after a special token belongs to it: %j', (names) => {
  expect(encode(names, prompt)).toEqual([7, 5, 8, 7]);
  expect(encode(names, '<|tool|>\n a<s>\n')).toEqual([9, 5, 1, 3, 6]);
  expect(encode(names, '<|tool|>\na', 'text')).toEqual([9, 5]);
});

test('other models keep white space after a special token', () => {
  for (const names of [{}, { 'general.name': 'Phil', 'general.architecture': 'llama' }])
    expect(encode(names, prompt)).toEqual([7, 3, 6, 4, 8, 3, 6, 7, 3, 3, 6]);
});

test.each([
  ['<mask>', { 'tokenizer.ggml.pre': 'jina-v2-de' }],
  ['<mask>', { 'general.architecture': 'nomic-bert-moe' }],
  ['[MASK]', { 'general.name': 'modern-bert-base' }],
])('%s has the white space before it: %j', (mask, names) => {
  const tokens = ['a', 'Ġ', mask];
  const entries = {
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': [NORMAL, NORMAL, CONTROL],
    'tokenizer.ggml.scores': [0, 0, 0],
    'tokenizer.ggml.merges': [],
  };
  expect(encode({ ...entries, ...names }, `a ${mask} a`)).toEqual([0, 2, 1, 0]);
  expect(encode({ ...entries, 'tokenizer.ggml.pre': 'gpt-2' }, `a ${mask} a`)).toEqual([0, 1, 2, 1, 0]);
});

testWithShared('Phi-3’s chat prompt: the ids of Hugging Face and llama.cpp', async () => {
  const { metadata } = await openGguf(shared('llamacpp-vocab/ggml-vocab-llama-spm.gguf'));
  const added = ['<|endoftext|>', '<|assistant|>', ...[1, 2, 3, 4].map((n) => `<|placeholder${n}|>`)];
  added.push('<|system|>', '<|end|>', '<|placeholder5|>', '<|placeholder6|>', '<|user|>');
  const [tokens, types, scores] = ['tokens', 'token_type', 'scores'].map((key) =>
    Array.from(metadata.get(`tokenizer.ggml.${key}`) as ArrayLike<unknown>),
  );
  const phi3 = tokenizerFromGguf(
    new Map<string, unknown>([
      ...metadata,
      ['general.name', 'Phi3'],
      ['tokenizer.ggml.tokens', [...tokens!, ...added]],
      ['tokenizer.ggml.token_type', [...types!, ...added.map(() => CONTROL)]],
      ['tokenizer.ggml.scores', [...scores!, ...added.map(() => 0)]],
    ]),
  );
  const text = '<|user|>\nHello<|end|>\n<|assistant|>\n';
  expect(phi3.encode(text, { special: 'parse', addBos: false })).toEqual([32010, 15043, 32007, 32001]);
});
