import fc from 'fast-check';
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
  ['bloom', 'one, two', ['one', ',', ' two']],
])('%s splits %j', (name, text, pieces) => {
  expect(split(name, text)).toEqual(pieces);
});

test('every pre-tokenizer keeps every character', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(..."aZé中1२.'’` \n\r\t\u00a0_/🦙\u0301"), maxLength: 30 }),
  );
  for (const name of preTokenizerNames) {
    fc.assert(
      fc.property(text, (each) => {
        const pieces = split(name, each);
        expect(pieces.join('')).toBe(each);
        expect(pieces).not.toContain('');
      }),
      { numRuns: 50 },
    );
  }
});

test('long runs of one kind take no quadratic time', () => {
  for (const name of preTokenizerNames) {
    for (const unit of [' ', '\n', 'a', '1', '!', 'aB', '中']) {
      const run = `${unit.repeat(50_000)}x`;
      expect(split(name, run).join('')).toBe(run);
    }
  }
});
