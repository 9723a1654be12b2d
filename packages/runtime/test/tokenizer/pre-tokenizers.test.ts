import fc from 'fast-check';
import { cases, runs } from '../../../../test-scope.js';
import { codePoint } from '../../../../test-strings.js';
import { preTokenizer, preTokenizerNames } from '../../src/tokenizer/pre-tokenizers.js';
import { splitText } from '../../src/tokenizer/split-text.js';

const split = (name: string, text: string) => [...splitText(text, preTokenizer(name).patterns)];

test.each([
  ['gpt-2', "I'll pay 1234€  now\n\n", ['I', "'ll", ' pay', ' 1234', '€', ' ', ' now', '\n\n']],
  ['gpt-2', "I'LL", ['I', "'", 'LL']],
  ['llama-bpe', "I'LL pay 1234€!\n\n x", ['I', "'LL", ' pay', ' ', '123', '4', '€!\n\n', ' x']],
  ['llama-bpe', 'a\u0085\u00a0b\ufeffc', ['a', '\u0085', '\u00a0b', '\ufeffc']],
  ['qwen2', '(word) 1234 \r\n x', ['(word', ')', ' ', '1', '2', '3', '4', ' \r\n', ' x']],
  ['qwen35', 'हिन्दी x', ['हिन्दी', ' x']],
  ['qwen2', 'हिन्दी', ['ह', 'िन', '्द', 'ी']],
  ['smollm', 'x12 y', ['x', '1', '2', ' y']],
  ['default', 'a1234,b=c', ['a', '123', '4', ',', 'b', '=', 'c']],
  ['falcon', 'a12345`b', ['a', '123', '45', '`', 'b']],
  ['tekken', 'HelloWorld fooBAR 12/\n', ['Hello', 'World', ' foo', 'BAR', ' ', '1', '2', '/\n']],
  ['gpt-4o', "HelloWorld's 1234", ['Hello', "World's", ' ', '123', '4']],
  ['deepseek-v3', 'x1234中文 _foo bar', ['x', '123', '4', '中文', ' _', 'foo', ' bar']],
  ['deepseek-coder', 'ab 12\nc!', ['ab', ' ', '1', '2', '\n', 'c', '!']],
  ['deepseek-llm', 'Äb 12\nc! 中文  ', ['Ä', 'b', ' ', '12', '\n', 'c', '!', ' ', '中文', '  ']],
  ['deepseek-llm', '12 ﹖。x', ['12', ' ﹖', '。', 'x']],
  ['command-r', 'x12 y', ['x', '1', '2', ' y']],
  ['jais-2', `a${' '.repeat(13)}b`, ['a', ' '.repeat(8), ' '.repeat(4), ' b']],
  ['minicpm5', 'x12345 y', ['x', '123', '45', ' y']],
  ['youtu', 'abc漢字かな、한국!12', ['abc', '漢字かな', '、', '한국', '!', '1', '2']],
  [
    'chameleon',
    '<sentinel:12>IMGIMGABZ  a1!?',
    ['<', 'sentinel', ':', '1', '2', '>', 'IMGIMGABZ', '  ', 'a', '1', '!', '?'],
  ],
  ['tiny_aya', '1234567 x 12ab', ['1', '234', '567', ' x', ' ', '12', 'ab']],
  ['superbpe', 'a1234567b12', ['a', '1', '234', '567', 'b', '12']],
  ['bailingmoe', "I'll 12\n\nx", ['I', "'ll", ' ', '1', '2', '\n\n', 'x']],
  ['seed-coder', 'a!\n1', ['a', '!', '\n', '1']],
  ['exaone-moe', '한국 말 1a b', ['한국 말', ' ', '1', 'a b']],
  ['laguna', 'a b\n\n c12', ['a', ' b', '\n\n', ' c', '1', '2']],
  ['kimi-k2', 'Hello世界World 1234', ['Hello', '世界', 'World', ' ', '123', '4']],
  ['afmoe', 'x1234567漢字 y', ['x', '1', '234', '567', '漢字', ' y']],
  ['granite-embed-multi-97m', "HelloWorld's हिन्दी", ['Hello', "World's", ' हिन्दी']],
  ['granite-docling', "I'll 12", ['I', "'ll", ' 12']],
  ['bloom', 'one, two', ['one', ',', ' two']],
  ['ufakzeka', "Ankara'da 12", ['Ankara', "'da", ' ', '1', '2']],
  ['qwen2', "Ankara'da", ['Ankara', "'d", 'a']],
  ['k2-horizon', "I'll हिन्दी क्\u200dष 1234", ['I', "'ll", ' हिन्दी', ' क्\u200dष', ' ', '123', '4']],
  ['spark2_5', 'x1234中文!\n\n y', ['x', '1', '2', '3', '4', '中文', '!', '\n', '\n', ' y']],
  ['hy_v4', 'x1234中文!\n\n y', ['x', '123', '4', '中文', '!\n\n', ' y']],
  ['gemma4', "it's 12\n\n3", ["it's 12", '\n\n', '3']],
  ['granite-embed-multi-311m', 'a b\nc', ['a b', '\n', 'c']],
  ['sarvam-moe', 'a b\nc', ['a b', '\n', 'c']],
  ['whitespace', 'a, b\u3000c', ['a,', ' ', 'b', '\u3000', 'c']],
])('%s splits %j', (name, text, pieces) => {
  expect(split(name, text)).toEqual(pieces);
});

/** One name per distinct pre-tokenizer. */
const ways = [...new Map(preTokenizerNames.map((name) => [preTokenizer(name), name])).values()];

test('no pre-tokenizer loses a character', () => {
  const text = fc.oneof(
    fc.string({ unit: codePoint, maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(..."aZé中1२.'’` \n\r\t\u00a0_/🦙\u0301"), maxLength: 30 }),
  );
  for (const name of ways) {
    fc.assert(
      fc.property(text, (each) => {
        const pieces = split(name, each);
        expect(pieces.join('')).toBe(each);
        expect(pieces).not.toContain('');
      }),
      { numRuns: runs(50) },
    );
  }
});

test('long runs of one character class: no quadratic time', () => {
  for (const name of ways) {
    for (const unit of cases([' ', '\n', 'a', '1', '!', 'aB', '中'], [' ', 'aB'])) {
      const run = `${unit.repeat(50_000)}x`;
      expect(split(name, run).join('')).toBe(run);
    }
  }
});
