import { workOf } from '../src/compile-in-turns.js';
import { type GrammarSource, type Matcher, Vocabulary } from '../src/index.js';
import { atOnce, Effort, type Work } from '../src/turns.js';

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const keyed = (count: number, value: (i: number) => unknown) =>
  Object.fromEntries(range(count).map((i) => [`k${i}`, value(i)]));
const nested = (count: number, within: (inner: string) => string, innermost: string) =>
  range(count).reduce(within, innermost);
const encode = (text: string) => new TextEncoder().encode(text);

/** ASCII, words of two and three letters, and the end. */
const letters = [...'abcdefgh'];
const words = letters.flatMap((a) => letters.flatMap((b) => [a + b, ...letters.map((c) => a + b + c)]));
const texts = [...range(95).map((i) => String.fromCharCode(32 + i)), ...words, 'a'.repeat(16), '{"', '":'];
const vocabulary = new Vocabulary([...texts.map(encode), new Uint8Array(0)], { endOfText: [texts.length] });

/** Units of effort since a part began, of all grammars. */
let units = 0;
const { spend } = Effort.prototype;
beforeAll(() => {
  Effort.prototype.spend = function (count) {
    units += count;
    spend.call(this, count);
  };
});
afterAll(() => {
  Effort.prototype.spend = spend;
});

interface Parts<Result> {
  readonly result: Result;
  readonly count: number;
  /** Units of effort. */
  readonly longest: number;
  readonly total: number;
}

function inParts<Result>(work: Work<Result>): Parts<Result> {
  let [count, longest, total] = [0, 0, 0];
  for (;;) {
    units = 0;
    const part = work.next();
    count++;
    longest = Math.max(longest, units);
    total += units;
    if (part.done) return { result: part.value, count, longest, total };
  }
}

/** A part ends after 256 units, and what is at hand as a whole may be three times as much. */
const MOST = 1024;

const matcherBehind = (source: GrammarSource, text: string): Matcher => {
  const matcher = atOnce(workOf(source, {})).matcher(vocabulary);
  expect(matcher.acceptBytes(encode(text))).toBe(true);
  return matcher;
};

const allOf = (count: number, part: (i: number) => object) => ({ allOf: range(count).map(part) });
const letterOf = (i: number) => String.fromCharCode(97 + (i % 26));

/** What takes long behind a text. */
const hostile: [string, GrammarSource, string][] = [
  ['ambiguous rules', { gbnf: 'root ::= s\ns ::= "a" | "a" s | "a" s s | t s\nt ::= "a" | "a" t t' }, 'aa'],
  ['rules that may be empty, repeated', { gbnf: 'root ::= (("a" | "b")? "c"?){0,900} "d"' }, 'a'],
  [
    'optional parts',
    {
      gbnf: `root ::= ${range(600)
        .map((i) => `("${letterOf(i)}")?`)
        .join(' ')}`,
    },
    '',
  ],
  ['nested repetitions', { regex: nested(90, (x) => `(${x}a?)*b?`, 'c') }, ''],
  ['alternatives of optional parts', { regex: nested(90, (x) => `(${x})*b?`, 'a?') }, ''],
  ['a long pattern', { regex: `(${'[a-d].*'.repeat(900)})+` }, 'abab'],
  [
    'optional letters',
    {
      regex: range(700)
        .map((i) => `${letterOf(i)}?`)
        .join(''),
    },
    '',
  ],
  ['many patterns', { schema: { type: 'string', ...allOf(150, (i) => ({ pattern: `a${i}` })) } }, '"'],
  [
    'many lengths and patterns',
    {
      schema: { type: 'string', maxLength: 900, ...allOf(100, (i) => ({ pattern: `${letterOf(i)}.${i}` })) },
    },
    '"',
  ],
  ['many divisors', { schema: { type: 'number', ...allOf(40, (i) => ({ multipleOf: 2 + i })) } }, '1'],
  [
    'keys that require keys',
    { schema: { type: 'object', dependentRequired: keyed(200, (i) => [`k${(i + 1) % 200}`]) } },
    '{"k0":',
  ],
];

describe('parts are short', () => {
  test.each(hostile)('mask: %s', (_, source, text) => {
    const { longest, total } = inParts(matcherBehind(source, text).findMask());
    expect(total).toBeGreaterThan(2 * MOST);
    expect(longest).toBeLessThan(MOST);
  });

  test.each(hostile)('forced tokens: %s', (_, source, text) => {
    const { longest } = inParts(matcherBehind(source, text).findForced(256));
    expect(longest).toBeLessThan(MOST);
  });

  test.each(hostile)('accepted tokens: %s', (_, source, text) => {
    const matcher = matcherBehind(source, text);
    for (let length = 2; length <= 4; length++) {
      const token = longestAllowed(matcher);
      if (token === undefined) break;
      units = 0;
      matcher.accept(token);
      expect(units).toBeLessThan(2 * MOST);
      expect(inParts(matcher.findState()).longest).toBeLessThan(MOST);
      expect(matcher.length).toBe(length);
    }
  });
});

function longestAllowed(matcher: Matcher): number | undefined {
  const mask = new Uint32Array(vocabulary.words);
  matcher.mask(mask);
  const isAllowed = (token: number) => ((mask[token >>> 5] as number) >>> (token & 31)) & 1;
  const allowed = range(texts.length).filter(isAllowed);
  return allowed.sort((a, b) => texts[b]!.length - texts[a]!.length)[0];
}

describe('tokens whose place takes long to find', () => {
  const source = {
    schema: { type: 'string', maxLength: 40, ...allOf(100, (i) => ({ pattern: `${letterOf(i)}|b` })) },
  };
  const tokenOf = (text: string) => texts.indexOf(text);

  test('are accepted at once, and found when they are needed', async () => {
    const matcher = matcherBehind(source, '"');
    const early = matcherBehind(source, '"');
    early.mask(new Uint32Array(vocabulary.words));
    const copy = early.clone();
    early.accept(tokenOf('a'.repeat(16)));
    expect(early.isSettled).toBe(false);
    expect(copy.isSettled).toBe(true);
    expect(early.length).toBe(2);
    const later = early.clone();
    await early.settle();
    expect(early.isSettled).toBe(true);
    matcher.accept(tokenOf('a'.repeat(16)));
    for (const each of [early, later]) {
      expect(each.isAccepting).toBe(matcher.isAccepting);
      expect(maskOf(each)).toEqual(maskOf(matcher));
    }
  });

  test('are taken back', () => {
    const matcher = matcherBehind(source, '"');
    const before = maskOf(matcher);
    matcher.accept(tokenOf('a'.repeat(16)));
    matcher.rollback(1);
    expect(matcher.isSettled).toBe(true);
    expect(maskOf(matcher)).toEqual(before);
  });

  test('are refused where the mask excludes them', () => {
    const matcher = matcherBehind(source, '"');
    maskOf(matcher);
    expect(() => matcher.accept(tokenOf('":'))).toThrow('not allowed after 1 tokens');
    expect(matcher.length).toBe(1);
  });
});

function maskOf(matcher: Matcher): Uint32Array {
  const mask = new Uint32Array(vocabulary.words);
  matcher.mask(mask);
  return mask;
}

describe('forced tokens', () => {
  test('are those of up to 256 bytes', async () => {
    const matcher = matcherBehind({ schema: { const: 'ab'.repeat(600) } }, '"');
    const forced = matcher.forced();
    expect(forced.map((token) => texts[token]).join('')).toBe('ab'.repeat(128).slice(0, 255));
    expect(await matcher.forcedInTurns()).toEqual(forced);
  });
});

describe('sources are compiled in short parts', () => {
  test.each<[string, GrammarSource, number]>([
    ['exclusive alternatives', { schema: { oneOf: range(60).map((i) => ({ const: i })) } }, 2150],
    [
      'rules that begin alike',
      { gbnf: `root ::= (${'"a" '.repeat(4000)}"b") | (${'"a" '.repeat(4000)}"c")` },
      8000,
    ],
  ])('%s', (_, source, least) => {
    const { longest, count } = inParts(workOf(source, {}));
    expect(longest).toBeLessThan(MOST);
    expect(count).toBeGreaterThan(least);
  });
});
