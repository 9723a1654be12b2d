import fc from 'fast-check';
import { runs } from '../../../../test-scope.js';
import { tokenizerFromGguf, tokenizerFromJson } from '../../src/tokenizer/index.js';
import { sharedText, testWithShared } from './shared-data.js';

const pieces: [string, number][] = [
  ['<pad>', 0],
  ['</s>', 0],
  ['<unk>', 0],
  ['▁', -2],
  ['a', -3],
  ['b', -3.5],
  ['ab', -4],
  ['▁a', -4.2],
  ['ba', -5],
  ['🦙', -6],
  ['!!', 0],
];
const load = (vocabulary: [string, number][], fields: Record<string, unknown> = {}) =>
  tokenizerFromGguf(
    new Map<string, unknown>(
      Object.entries({
        model: 't5',
        tokens: vocabulary.map(([spelling]) => spelling),
        scores: vocabulary.map(([, score]) => score),
        token_type: vocabulary.map(([spelling]) =>
          spelling === '<unk>' ? 2 : spelling === '!!' ? 4 : /^<\/?\w+>$/.test(spelling) ? 3 : 1,
        ),
        ...fields,
      }).map(([key, value]) => [`tokenizer.ggml.${key}`, value]),
    ),
  );

/** The best sum of scores over all splits of `text`, by exhaustive search. */
function bestScore(text: string): number {
  if (text === '') return 0;
  const scores = pieces.slice(3, 10).filter(([spelling]) => text.startsWith(spelling));
  return Math.max(...scores.map(([spelling, score]) => score + bestScore(text.slice(spelling.length))));
}

test('finds the split with the best sum of scores', () => {
  const tokenizer = load(pieces);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', ' ', '🦙'), maxLength: 9 }), (text) => {
      const ids = tokenizer.encode(text, { addEos: false });
      const score = ids.reduce((sum, id) => sum + pieces[id]![1], 0);
      expect(score).toBeCloseTo(text === '' ? 0 : bestScore(` ${text}`.replaceAll(' ', '▁')), 9);
      expect(tokenizer.decode(ids)).toBe(text);
    }),
    { numRuns: runs(500) },
  );
});

test('consecutive unknown characters are one token; user-defined tokens; the end', () => {
  const tokenizer = load(pieces);
  expect(tokenizer.encode('xyz')).toEqual([3, 2, 1]);
  expect(tokenizer.encode('a!!b', { addEos: false })).toEqual([7, 10, 3, 5]);
});

test('extra spaces', () => {
  const tokenizer = load(pieces, { remove_extra_whitespaces: true });
  expect(tokenizer.encode('  a   b ')).toEqual(load(pieces).encode('a b'));
  expect(tokenizer.encode('   ', { addEos: false })).toEqual([]);
});

testWithShared('equals the library on its tokenizer.json', () => {
  const json = JSON.parse(sharedText('tiny-hf/tiny_unigram_tokenizer.json'));
  const library = tokenizerFromJson(json);
  const ours = load(json.model.vocab, {
    unknown_token_id: json.model.unk_id,
    eos_token_id: 2,
    add_eos_token: false,
  });
  const letters = [...new Set(json.model.vocab.flatMap(([spelling]: [string]) => [...spelling]))] as string[];
  const word = fc.string({
    unit: fc.constantFrom(...letters.filter((letter) => !'▁<>/'.includes(letter)), 'ß'),
    minLength: 1,
    maxLength: 15,
  });
  fc.assert(
    fc.property(word, (text) => {
      expect(ours.encode(text)).toEqual(library.encode(text));
    }),
    { numRuns: runs(1000) },
  );
});
