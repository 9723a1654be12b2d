import { runAtOnce } from '@quern/core';
import { fimTokensOf } from '../../src/tokenizer/fim-tokens.js';
import { endTokens } from '../../src/tokenizer/special-tokens.js';
import { noStrips } from '../../src/tokenizer/strips.js';
import type { TextModel } from '../../src/tokenizer/tokenizer.js';
import { TokenType, Vocabulary } from '../../src/tokenizer/vocabulary.js';
import { VocabularyTokenizer } from '../../src/tokenizer/vocabulary-tokenizer.js';

const size = 100_000;
const vocabulary = runAtOnce(
  Vocabulary.of(
    Array.from({ length: size }, (_, id) => `t${id}`),
    new Uint8Array(size).fill(TokenType.normal),
    (spelling) => new TextEncoder().encode(spelling),
  ),
);
const model: TextModel = { encode: () => undefined as never };
const rules = {
  bos: undefined,
  eos: undefined,
  eog: new Set<number>(),
  addBos: false,
  addEos: false,
  addSpacePrefix: false,
  strips: noStrips,
  longestToken: undefined,
  fim: undefined,
};

test.each([
  ['tokens for filling in the middle', () => fimTokensOf(vocabulary)],
  ['tokens that end a text', () => endTokens(vocabulary, [])],
  ['tokens that are searched in texts', () => VocabularyTokenizer.of(vocabulary, model, rules)],
])('%s: at most about a thousand tokens of the vocabulary in one turn', (_, scan) => {
  let parts = 0;
  for (const work = scan(); !work.next().done; ) parts++;
  expect(parts).toBeGreaterThanOrEqual(size / 1100);
});
