import fc from 'fast-check';
import { runs } from '../../../../test-scope.js';
import { tokenizerFromJson } from '../../src/tokenizer/index.js';
import { fromOniguruma } from '../../src/tokenizer/json/oniguruma.js';
import { complete, oracle, withOracle } from './oracle.js';

// Regular expressions of tokenizer.json, in Oniguruma's syntax: the matches of Hugging Face's own tokenizers.

const text =
  '.ß.ẞ.ss.SS.sS.ſs.ﬆ.st.ST.ﬁ.fi.FI.fſ.ffi.ﬀi.x½²1 2.ßx.ssx.xß\nsß.ßs\nsss.a Straße STRASSE K k\u212a İ i̇ ŉ ʼn é É\r\nz ab aab';

/** What is left of a text without the matches, by Hugging Face's library: places in characters. */
async function theirs(Regex: string): Promise<string> {
  const file = {
    pre_tokenizer: { type: 'Split', pattern: { Regex }, behavior: 'Removed', invert: false },
    model: { type: 'WordLevel', vocab: { '<unk>': 0 }, unk_token: '<unk>' },
  };
  const encoding = await oracle!(complete(file)).encode(text, null, { addSpecialTokens: false });
  return encoding.getOffsets().join(' ');
}

/** Where each character starts, counted in characters; one more for the end. */
const places = [...text].flatMap((character, i) => Array.from(character, () => i));
places.push([...text].length);

function ours(source: string): string {
  const rest: string[] = [];
  let end = 0;
  for (const { index, 0: match } of text.matchAll(fromOniguruma(source))) {
    if (index > end) rest.push(`${places[end]},${places[index]}`);
    end = Math.max(end, index + match.length);
  }
  if (end < text.length) rest.push(`${places[end]},${places[text.length]}`);
  return rest.join(' ');
}

const constructs = String.raw`
(?m).+
(?m:.)+
(?m:s.+?f)
(?m)a.(?-m)..
(?:[^i].)+?
(?:.s)+?
(?:[^\p{L}]s){2,}
\w+
\W+
[\w]+
[^\w]+
[\W]+
[^\W]+
[\w&&[^a]]+
[\w&&\p{N}]
[^\w&&\p{N}]
[\W&&\p{N}]
\p{Word}+
\p{ w-or_d }+
\P{Word}+
\p{^Word}+
[\p{Word}]+
[^\P{Word}]+
[[:word:]]+
\bs
s\B
(?i:straße)
(?i:STRASSE)
(?i:ﬁ)
(?i:fi)
(?i:ß)+
(?i:ss)
(?i:sss)
(?i:ßs)
(?i:sß)
(?i:ſs)
(?i:ffi)
(?i:ﬀi)
(?i:fﬁ)
(?i:st)
(?i)s|ss
(?i)ss?
(?i:s{2})
(?i:s(?:s))
(?i:(?:s)s)
(?i:s(?:s){1})
(?i:s(?#c)s)
(?ix: s s # c
)
(?i:\x{73}s)
(?i:s(s))
(?i:s)(?i:s)
(?i:(?<=ß)x)
(?i:(?<=[ß])x)
(?i:(?<![ß])x)
(?i:(?=ss)..)
(?i:(?~ss))
(?i:[ß]+)
(?i:[^ß]+)
(?i:[ßﬃ]x)
(?i:[\p{L}]x)
(?i:[ﬀﬃ].)
(?i:\p{Lu}+)
(?i:\P{Lu}+)
(?i:[\p{Lu}]+)
(?i:[^[:upper:]]+)
(?i:[\p{Lu}ſa&&[^s]]+)
(?i:[^s&&\w]+)
(?i:[a[^s]]+)
(?i:[\P{Ll}]+)
(?i:k)
(?i:i)
(?i:İ)
(?i:ŉ)
a(?i)k|K
(?:a(?i)k|K)+
(?i:a(?-i:k)|k)
\R
\X
\h+
\N+
\O+
`
  .split(/\n(?!\))/)
  .filter(Boolean);

withOracle.each(constructs)('%s', async (source) => {
  expect(ours(source)).toBe(await theirs(source));
});

const letters = fc.constantFrom(...'sßtfiſﬁxkK12½²İŉ ');
const atom = fc.oneof(
  { weight: 5, arbitrary: letters },
  fc.constantFrom('.', '\\w', '\\W', '\\s', '\\p{L}', '\\p{Lu}', '\\P{Ll}', '\\p{Word}', '\\N', '\\b'),
  fc
    .tuple(
      fc.constantFrom('[', '[^'),
      fc.array(fc.oneof(letters, fc.constantFrom('a-z', '\\w', '\\W', '\\p{Lu}', '[^s]', '[st]')), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.constantFrom(']', ']', '&&[^s]]', '&&\\w]'),
    )
    .map(([start, members, end]) => start + members.join('') + end),
);
const repeated = fc
  .tuple(atom, fc.constantFrom('', '', '', '+', '?', '+?', '{2}'))
  .map(([some, quantifier]) => (some === '\\b' ? some : some + quantifier));
const sequence = fc.array(repeated, { minLength: 1, maxLength: 4 }).map((some) => some.join(''));
const expression = fc
  .tuple(
    fc.constantFrom('', '(?i)'),
    sequence,
    fc.constantFrom('', '(?:', '(?i:', '(?m:', '(', '(?>'),
    sequence,
    fc.constantFrom('', '+', '+?'),
  )
  .map(([flags, before, group, inside, quantifier]) =>
    group === '' ? flags + before : `${flags}${before}${group}${inside}|${before})${quantifier}`,
  );

withOracle('made at random', async () => {
  for (const source of fc.sample(expression, { seed: 11, numRuns: runs(400) }))
    expect([source, ours(source)]).toEqual([source, await theirs(source)]);
});

test.each([
  ['[^\\P{Any}]', 'matches no character'],
  ['(?i:s(?:s.))', 'write them without the group'],
  ['(?i:s\\163)', 'write the letter'],
  ['(?W)\\w', 'group option'],
])('refused by its construct: %s', (Regex, reason) => {
  const pre_tokenizer = { type: 'Split', pattern: { Regex }, behavior: 'Isolated' };
  expect(() => tokenizerFromJson({ model: { vocab: { a: 0 } }, pre_tokenizer })).toThrow(
    expect.objectContaining({
      code: 'BAD_VOCABULARY',
      message: expect.stringContaining(reason),
    }),
  );
});

test('without Hugging Face’s library: the same on every version of Node', () => {
  expect('a b\nc'.match(fromOniguruma('(?m).+'))).toEqual(['a b\nc']);
  expect('½²a1'.match(fromOniguruma('[\\w&&[^a]]+'))).toEqual(['1']);
  expect('½²a1'.match(fromOniguruma('\\p{Word}+'))).toEqual(['½²a1']);
  expect('Straße STRASSE'.match(fromOniguruma('(?i:straße)'))).toEqual(['Straße', 'STRASSE']);
  expect('fix'.match(fromOniguruma('(?:[^a].)+?'))).toEqual(['fi']);
});
