// Tokens for filling in the middle of a text: declared in the file, or known by their spellings.
import { tokenizerFromGguf, tokenizerFromJson } from '../../src/index.js';

const [NORMAL, CONTROL] = [1, 3];

function gguf(spellings: readonly string[], entries: Record<string, unknown> = {}) {
  const tokens = ['a', 'b', ...spellings];
  return tokenizerFromGguf(
    new Map<string, unknown>([
      ['tokenizer.ggml.model', 'gpt2'],
      ['tokenizer.ggml.pre', 'gpt-2'],
      ['tokenizer.ggml.tokens', tokens],
      ['tokenizer.ggml.token_type', tokens.map((_, id) => (id < 2 ? NORMAL : CONTROL))],
      ['tokenizer.ggml.merges', []],
      ...Object.entries(entries),
    ]),
  );
}

test.each([
  [['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>']],
  [['<fim_prefix>', '<fim_suffix>', '<fim_middle>']],
  [['<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>']],
  [['▁<PRE>', '▁<SUF>', '▁<MID>']],
  [['<|code_prefix|>', '<|code_suffix|>', '<|code_middle|>']],
])('by their spellings: %j', (spellings) => {
  expect(gguf(spellings).fim).toEqual({ prefix: 2, suffix: 3, middle: 4 });
  const added = spellings.map((content, i) => ({ id: 2 + i, content, special: true }));
  const model = { type: 'BPE', vocab: { a: 0, b: 1 }, merges: [] };
  expect(tokenizerFromJson({ model, added_tokens: added }).fim).toEqual({ prefix: 2, suffix: 3, middle: 4 });
});

test('those of a repository, and padding, which end a text', () => {
  const { fim, eog } = gguf([
    ...['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'],
    ...['<|file_sep|>', '<|repo_name|>', '<|fim_pad|>'],
  ]);
  expect(fim).toEqual({ prefix: 2, suffix: 3, middle: 4, file: 5, repository: 6, pad: 7 });
  expect([...eog].sort()).toEqual([5, 6, 7]);
});

test('what the file declares goes first, under today’s keys and older ones', () => {
  const keys = (names: readonly string[]) =>
    Object.fromEntries(names.map((name, i) => [`tokenizer.ggml.${name}_token_id`, 5 + i]));
  const spellings = ['<fim_prefix>', '<fim_suffix>', '<fim_middle>', '<1>', '<2>', '<3>'];
  for (const names of [
    ['fim_pre', 'fim_suf', 'fim_mid'],
    ['prefix', 'suffix', 'middle'],
  ])
    expect(gguf(spellings, keys(names)).fim).toEqual({ prefix: 5, suffix: 6, middle: 7 });
  expect(() => gguf(spellings, { 'tokenizer.ggml.fim_pre_token_id': 99 })).toThrow(/fim_pre_token_id is 99/);
});

test('absent where one of the three is missing', () => {
  const { fim, eog } = gguf(['<fim_prefix>', '<fim_middle>', '<file_sep>']);
  expect([fim, eog.size]).toEqual([undefined, 0]);
});
