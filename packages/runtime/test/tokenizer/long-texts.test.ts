// Long texts are processed in parts: results equal processing in one go, and other work runs in between.
import { Spellings } from '../../src/tokenizer/find-spellings.js';
import { tokenizerFromJson } from '../../src/tokenizer/index.js';
import { Fields, type Json } from '../../src/tokenizer/json/fields.js';
import { normalizeInParts } from '../../src/tokenizer/json/normal-parts.js';
import { normalizationOf } from '../../src/tokenizer/json/normalizers.js';

/** A generator's yielded values and its result. */
function whole<T, R>(work: Generator<T, R>): { yielded: T[]; result: R } {
  const yielded: T[] = [];
  for (;;) {
    const { done, value } = work.next();
    if (done) return { yielded, result: value };
    yielded.push(value);
  }
}

describe('spellings', () => {
  const spellings = new Spellings(['<a>', '<a><a>', '🦙', 'x'.repeat(1000)]);
  const part = 2 ** 16;

  test.each([
    ['across the end of a part', `${' '.repeat(part - 2)}<a><a>  <a>`, [part - 2, part + 6]],
    ['at the end of a part', `${' '.repeat(part - 3)}<a>🦙`, [part - 3, part]],
    ['half a character at the end of a part', `${' '.repeat(part - 1)}🦙<a>`, [part - 1, part + 1]],
    [
      'a long spelling at the end of a part',
      `${' '.repeat(part - 1)}${'x'.repeat(1000)}<a>`,
      [part - 1, part + 999],
    ],
    ['in the third part', `${'.'.repeat(3 * part - 1)}<a>`, [3 * part - 1]],
  ])('%s', (_, text, places) => {
    const found = [...spellings.in(text)].filter((place) => place !== undefined);
    expect(found.map(({ index }) => index)).toEqual(places);
  });

  test('no spelling in a long text: a yield after each part', () => {
    expect([...spellings.in('.'.repeat(10 * part))]).toEqual(Array.from({ length: 9 }, () => undefined));
  });
});

const normalizers: readonly Json[] = [
  { type: 'BertNormalizer' },
  { type: 'ByteLevel' },
  { type: 'Lowercase' },
  { type: 'Nmt' },
  { type: 'StripAccents' },
  ...['NFC', 'NFD', 'NFKC', 'NFKD'].map((type) => ({ type })),
  { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
  { type: 'Sequence', normalizers: [{ type: 'NFD' }, { type: 'Lowercase' }, { type: 'StripAccents' }] },
];

const units = [
  'The mill by the river. ',
  'Éte\u0301 à la fore\u0302t ',
  '漢字かな\u3099ﾊ\uff9e',
  '한국어\u1112\u1161\u11ab',
  'ΟΔΟΣ.α ΣΑΣ',
  '👩‍👩‍👧🦙🇫🇷',
  'กำ\u0e33 ນ\u0eb3',
  'a\u0327\u0301\r\n\u00a0',
];
const texts = [...units, units.join('')].map((unit) => unit.repeat(Math.ceil(60_000 / unit.length)));

describe.each(normalizers.map((json) => [JSON.stringify(json).slice(0, 60), json] as const))(
  '%s',
  (_, json) => {
    const normalization = normalizationOf(new Fields(json, 'normalizer'));

    test('parts equal one go', () => {
      for (const text of texts)
        for (const shift of [0, 1, 2, 3]) {
          const shifted = '.'.repeat(shift) + text;
          expect(whole(normalizeInParts(normalization, shifted)).result).toBe(
            normalization.normalize(shifted),
          );
        }
    });

    test('ordinary text has short parts', () => {
      const lengths: number[] = [];
      const normalize = (text: string) => {
        lengths.push(text.length);
        return text;
      };
      whole(normalizeInParts({ ...normalization, normalize }, units[0]!.repeat(50_000)));
      expect(Math.max(...lengths)).toBeLessThanOrEqual(8200);
    });
  },
);

test.each<Json>([
  { type: 'Strip' },
  { type: 'Prepend', prepend: '▁' },
  { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' },
  { type: 'Replace', pattern: { String: 'ab' }, content: 'c' },
  { type: 'Sequence', normalizers: [{ type: 'NFC' }, { type: 'Strip' }] },
])('normalisers with lookahead are not split: %j', (json) => {
  expect(normalizationOf(new Fields(json, 'normalizer')).isLocal).toBe(false);
});

test('removed whitespace yields in between; a word of megabytes is unknown', () => {
  const tokenizer = tokenizerFromJson({
    model: { type: 'WordPiece', vocab: { '[UNK]': 0, a: 1 }, unk_token: '[UNK]' },
    pre_tokenizer: { type: 'BertPreTokenizer' },
  });
  expect(tokenizer.encode(`a${' '.repeat(100_000)}a ${'b'.repeat(1_000_000)}`)).toEqual([1, 1, 0]);
});
