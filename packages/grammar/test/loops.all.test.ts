// Masks made by loops (whole kinds of characters at once) against the definition: every token by itself.
import { compileRegex, compileSchema, type Grammar, prepareSchemas, Vocabulary } from '../src/index.js';

/** Numbers from 0 to 1, the same in each run. */
function numbers(seed: number) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const CHARS = [
  ...'abcxyzABXZ019 _-./:@+#()"\\,{}\n\t',
  '\x7f',
  'é',
  'ß',
  '中',
  '文',
  '\u3000',
  '\u00a0',
  '\u2028',
  '🙂',
];
const random = numbers(7);
const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
const word = (chars: readonly string[]) =>
  Array.from({ length: 1 + Math.floor(random() ** 2 * 12) }, () => pick(chars)).join('');

/** Words of few characters, so that subtrees are large; words of all; halves of characters; long runs. */
const texts = [
  ...Array.from({ length: 3000 }, () => word([...'abc'])),
  ...Array.from({ length: 1500 }, () => word([...'ab1 '])),
  ...Array.from({ length: 1500 }, () => word(CHARS)),
  ...Array.from({ length: 40 }, (_, i) => '-'.repeat(i + 1)),
  ...CHARS,
];
const encoder = new TextEncoder();
const halves = [
  [0xe4],
  [0xe4, 0xb8],
  [0x61, 0xe4],
  [0xad, 0x62],
  [0x80],
  [0xf0, 0x9f],
  [0xed, 0xa0, 0x80],
  [0xc0, 0x80],
  [0xff],
];
const bytes = [...texts.map((text) => encoder.encode(text)), ...halves.map((half) => Uint8Array.from(half))];
const vocabulary = new Vocabulary([...bytes, new Uint8Array(0)], { endOfText: [bytes.length] });

/** The places of `grammar` along `text`, as tokens of one character. */
function placesOf(grammar: Grammar, text: string) {
  const matcher = grammar.matcher(vocabulary);
  const places = [matcher.clone()];
  for (const byte of encoder.encode(text)) {
    const token = bytes.findIndex(({ length }, i) => length === 1 && bytes[i]?.[0] === byte);
    if (token < 0 || !matcher.allows(token)) break;
    matcher.accept(token);
    places.push(matcher.clone());
  }
  return places;
}

const wrongTokens = (matcher: ReturnType<Grammar['matcher']>) => {
  const mask = new Uint32Array(vocabulary.words);
  matcher.mask(mask);
  const isIn = (token: number) => (((mask[token >>> 5] as number) >>> (token & 31)) & 1) === 1;
  return bytes.flatMap((_, token) => (isIn(token) === matcher.allows(token) ? [] : [texts[token] ?? token]));
};

const string = (rest: object) => ({ type: 'string', ...rest });
const schemas: [object | boolean, string][] = [
  [string({}), '"abc 1'],
  [string({ maxLength: 5 }), '"abc 1"'],
  [string({ minLength: 3, maxLength: 40 }), '"abc 1'],
  [string({ minLength: 43 }), '"abc 1'],
  [string({ minLength: 50, maxLength: 60 }), '"abc 1'],
  [string({ pattern: '^([ab][a-z]){25,}$' }), '"abac'],
  [string({ pattern: '^[a-z]+$' }), '"abc'],
  [string({ pattern: '^[a-z]{1,4}$' }), '"abca"'],
  [string({ pattern: '^[a-z]{1,4}[a-b0-9]*$' }), '"abca11'],
  [string({ pattern: '^(\\S+\\s+){0,9}\\S+$' }), '"ab c 1'],
  [string({ pattern: '^\\S*$' }), '"ab-c'],
  [string({ pattern: '^[^a]*$' }), '"bc'],
  [string({ pattern: '^.*b.*$' }), '"aab1'],
  [string({ pattern: '[0-9]' }), '"ab1a'],
  [string({ pattern: '^\\w+@(\\w+\\.)+\\w+$', maxLength: 30 }), '"ab@ab.a'],
  [string({ pattern: '^[\\w .-]*$', not: { enum: ['abc', 'ab.c'] } }), '"ab.ca'],
  [{ not: { enum: ['ab', 'abc1'] }, ...string({}) }, '"abc1a'],
  [
    { type: 'object', properties: { abc: { type: 'integer' }, ab: true }, additionalProperties: string({}) },
    '{"abca":"a',
  ],
  [
    { type: 'object', properties: { abc: { type: 'integer' } }, patternProperties: { '^x': true } },
    '{"xa":1',
  ],
  [true, '{"a":["b'],
  // lengths that leave one way only, which a token's length does not tell
  [string({ minLength: 118, maxLength: 120, pattern: '^((a{56})*|(b{40})*)$' }), '"b'],
  [
    string({
      maxLength: 100,
      pattern: '^(a(b{10})*|c)$',
      not: { enum: [...'0123456789'].map((_, i) => `a${'b'.repeat(10 * i)}`) },
    }),
    '"a',
  ],
  ...[41, 60, 85, 110, 300].flatMap((maxLength): [object, string][] => [
    [string({ maxLength, pattern: '^(\\S+\\s+){0,9}\\S+$' }), '"ab c 1'],
    [string({ maxLength, pattern: '^(a|b{60})$' }), '"bb'],
    [string({ maxLength, pattern: '^[ab]*c{30}$' }), '"abacc'],
    [string({ maxLength, not: { enum: ['abc', 'b'] } }), '"abc'],
    [string({ maxLength, minLength: 40, pattern: '^-*$' }), '"--'],
  ]),
];

test.each(schemas)('%j', (schema, text) => {
  for (const grammar of [compileSchema(schema), compileSchema(schema, { whiteSpace: 'any' })])
    for (const place of placesOf(grammar, text)) expect(wrongTokens(place)).toEqual([]);
});

const patterns: [string, string][] = [
  ['[a-c]*', 'abc'],
  ['[a-c]{0,3}x?', 'abcx'],
  ['([a-c]{2,}|[a-z1 ]*-)+', 'ab1 a-'],
  ['[\\s\\S]*', 'a\n"'],
  ['[^\\n]{0,7}', 'a "b'],
  ['\\p{L}+( \\p{L}+)*', 'ab a'],
];

test.each(patterns)('/%s/', (pattern, text) => {
  for (const place of placesOf(compileRegex(pattern), text)) expect(wrongTokens(place)).toEqual([]);
});

test('built in turns, a vocabulary is the same, and the event loop goes on', async () => {
  const repeated = Array.from({ length: 400 }, () => new TextEncoder().encode('again'));
  const counted = Array.from({ length: 60_000 }, (_, i) => new TextEncoder().encode(`${i % 50_000}`));
  const texts = [...counted, ...repeated, new Uint8Array(0)];
  const ends = { endOfText: [texts.length - 1] };
  let turns = 0;
  const counting = setInterval(() => turns++, 1);
  const built = await Vocabulary.build({ length: texts.length, at: (token) => texts[token] }, ends);
  clearInterval(counting);
  expect(turns).toBeGreaterThan(0);
  const known = new Vocabulary(texts, ends);
  expect([built.trie, built.twins, built.deepest]).toEqual([known.trie, known.twins, 5]);
  expect(built.twins.get(60_000)).toEqual(repeated.slice(1).map((_, i) => 60_001 + i));
  expect(built.twins.get(7)).toEqual([50_007]);
  expect(built.trie.order.length).toBe(50_001);
  await expect(Vocabulary.build(bytes, { endOfText: [-1] })).rejects.toThrow(
    'endOfText must be tokens below',
  );
});

test('many tokens that share a long beginning', () => {
  const texts = Array.from({ length: 300 }, (_, i) => new Uint8Array(20_000 + (i % 299)).fill(0x61));
  const { trie, twins } = new Vocabulary([...texts, new Uint8Array(0)], { endOfText: [300] });
  expect([...trie.order]).toEqual(Array.from({ length: 299 }, (_, i) => i));
  expect(twins.get(0)).toEqual([299]);
});

test('a token without bytes is named', () => {
  const texts = { length: 2, at: (token: number) => (token === 0 ? new Uint8Array(1) : undefined) };
  expect(() => new Vocabulary(texts, { endOfText: [0] })).toThrow('its text must be a Uint8Array');
});

test('what schemas share is made in turns, before the first', async () => {
  await Promise.all([prepareSchemas(), prepareSchemas()]);
  expect(compileSchema({ type: 'string' }).test('"é"')).toBe(true);
});
