import { type Tokenizer, tokenizerFromGguf, tokenizerFromJson } from '../../src/tokenizer/index.js';

const spellings = [...'abc<>|e', '<|e|>', '<u>'];
const control = spellings.indexOf('<|e|>');
const user = spellings.indexOf('<u>');
const vocab = Object.fromEntries(spellings.slice(0, -2).map((spelling, id) => [spelling, id]));
const added = (id: number, special: boolean) => ({ id, content: spellings[id]!, special });

const fromJson = tokenizerFromJson({
  model: { type: 'BPE', vocab: { ...vocab, u: 9 }, merges: [] },
  added_tokens: [added(control, true), added(user, false)],
});

const fromGguf = tokenizerFromGguf(
  new Map<string, unknown>([
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.pre', 'gpt-2'],
    ['tokenizer.ggml.tokens', [...spellings, 'u']],
    ['tokenizer.ggml.token_type', [1, 1, 1, 1, 1, 1, 1, 3, 4, 1]],
    ['tokenizer.ggml.merges', []],
  ]),
);

const MARK = '\u{f0000}';

describe.each<[string, Tokenizer]>([
  ['tokenizer.json', fromJson],
  ['GGUF', fromGguf],
])('a mark in the text of a template: %s', (_, tokenizer) => {
  const spell = (text: string, mark: string | undefined = MARK) =>
    tokenizer
      .encode(text, { special: 'parse', mark, addBos: false, addEos: false })
      .map((id) => tokenizer.tokenText(id));

  test('a spelling interrupted by the mark is plain text', () => {
    expect(spell(`a<|e|>b<${MARK}|e|>c`)).toEqual(['a', '<|e|>', 'b', ...'<|e|>', 'c']);
    expect(spell(`${MARK}<|e|>${MARK}`)).toEqual(['<|e|>']);
  });

  test('removing the mark creates no control token', () => {
    expect(spell(`<|${MARK}${MARK}e|>`)).toEqual([...'<|e|>']);
  });

  test('plain text may contain a user-defined token', () => {
    expect(spell(`a${MARK}<${MARK}u>`)).toEqual(['a', '<u>']);
  });

  test('without a mark the text is unchanged', () => {
    expect(spell('a<|e|><u>b')).toEqual(['a', '<|e|>', '<u>', 'b']);
    expect(spell('a<|e|><u>b', '')).toEqual(['a', '<|e|>', '<u>', 'b']);
  });
});
