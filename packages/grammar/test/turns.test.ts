import {
  compileChoices,
  compileInTurns,
  compileRegex,
  compileSchema,
  type GrammarSource,
  type Matcher,
  type Structure,
  Vocabulary,
} from '../src/index.js';
import { Strings } from '../src/schema/strings.js';
import { structureWork } from '../src/structure.js';
import { atOnce, inTurns, startInTurns, type Work } from '../src/turns.js';

/** About 100 kB of JSON schema in 58 tools. */
const tools = Array.from({ length: 58 }, (_, i) => ({
  type: 'object',
  description: 'x'.repeat(400),
  properties: {
    id: { type: 'string', format: 'uuid' },
    when: { type: 'string', format: 'date-time' },
    url: { type: 'string', format: 'uri' },
    count: { type: 'integer', minimum: 0, maximum: 1000 + i },
    kind: { enum: Array.from({ length: 20 }, (_, k) => `kind_${i}_${k}`) },
    code: { type: 'string', pattern: `^[A-Z]{2}-\\d{4,8}-${i}$` },
    filter: {
      oneOf: ['eq', 'lt', 'gt'].map((op) => ({ properties: { op: { const: op } }, required: ['op'] })),
    },
    nested: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 6 }, (_, k) => [`p${k}`, { type: ['string', 'null'] }]),
      ),
    },
  },
  required: ['id', 'when', 'kind'],
  additionalProperties: false,
}));

const callsOf = (count: number): Structure => ({
  oneOf: tools
    .slice(0, count)
    .map((schema, i) => ({ sequence: [{ literal: `tool_${i}(` }, { schema }, { literal: ')' }] })),
});

test('58 tools are compiled in many small parts', () => {
  const strings = new Strings();
  const work = structureWork(callsOf(58), {}, strings);
  const parts: number[] = []; // new expressions of each
  for (let done = false, before = strings.regexes.size; !done; before = strings.regexes.size) {
    done = work.next().done === true;
    parts.push(strings.regexes.size - before);
  }
  const total = parts.reduce((sum, part) => sum + part, 0);
  expect(total).toBeGreaterThan(2000);
  expect(Math.max(...parts)).toBeLessThan(600);
});

test('other work goes on meanwhile, and the grammar is the same', async () => {
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const grammar = await compileInTurns({ structure: callsOf(8) });
  clearInterval(counting);
  expect(turns).toBeGreaterThan(0);
  const text =
    'tool_5({"id":"123e4567-e89b-42d3-a456-426614174000","when":"2024-01-01T00:00:00Z","kind":"kind_5_3"})';
  expect(grammar.test(text)).toBe(true);
  expect(grammar.test(text.replace('kind_5_3', 'kind_6_3'))).toBe(false);
}, 60_000);

test.each([
  [{ schema: { enum: ['a'] } }, '"a"'],
  [{ regex: 'a+' }, 'aa'],
  [{ choices: ['a', 'b'] }, 'b'],
  [{ gbnf: 'root ::= "a" | "b"' }, 'b'],
  [{ structure: { literal: 'a' } }, 'a'],
])('%j in turns', async (source, text) => {
  expect((await compileInTurns(source)).test(text)).toBe(true);
});

describe('what is too large is refused with the numbers', () => {
  const many = Array.from({ length: 100_000 }, (_, i) => `v${i}`);

  test.each<[string, () => unknown, string]>([
    ['enum', () => compileSchema({ enum: many }), '100000 alternatives here; the bound is 2000'],
    ['regex', () => compileRegex('a'.repeat(1 << 20)), '1048576 characters; the bound is 32768'],
    [
      'pattern',
      () => compileSchema({ pattern: 'a'.repeat(1 << 20) }),
      '1048576 characters; the bound is 32768',
    ],
    ['choices', () => compileChoices(many), '100000 texts; the bound is 20000'],
  ])('%s', (_, compile, message) => {
    expect(compile).toThrow(message);
  });

  test('compileInTurns rejects alike', async () => {
    await expect(compileInTurns({ schema: { enum: many } })).rejects.toThrow('the bound is 2000');
    await expect(compileInTurns({ gbnf: `root ::= "${'a'.repeat(300_000)}"` })).rejects.toThrow('262144');
  });
});

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const keyed = (count: number, value: (i: number) => unknown) =>
  Object.fromEntries(range(count).map((i) => [`k${i}`, value(i)]));
const linked = (count: number, link: (next: object) => object) => ({
  $defs: keyed(count, (i) => (i === count - 1 ? { type: 'string' } : link({ $ref: `#/$defs/k${i + 1}` }))),
});

describe('hostile sources are refused with the numbers', () => {
  test.each<[string, GrammarSource, string]>([
    ['properties', { schema: { properties: keyed(10_000, () => true) } }, '10000 schemas; at most 2000'],
    ['many properties', { schema: { properties: keyed(100_000, () => true) } }, 'more than 20000 members'],
    ['const', { schema: { const: keyed(100_000, () => 1) } }, 'an object of more than 2000 members'],
    [
      'dependentRequired',
      { schema: { dependentRequired: { a: range(3000).map(String) } } },
      '3000 properties at one place; the bound is 2000',
    ],
    [
      'dependentRequired of all',
      { schema: { dependentRequired: keyed(300, () => range(300).map(String)) } },
      'dependentRequired names 90000 properties in all; the bound is 20000',
    ],
    [
      'dependentRequired in parts',
      { schema: { allOf: range(300).map((i) => ({ dependentRequired: { [i]: range(300).map(String) } })) } },
      'dependentRequired names 90000 properties in all; the bound is 20000',
    ],
    [
      'not',
      { schema: { type: 'string', not: { enum: range(100_000).map(String) } } },
      '100000 alternatives here; the bound is 2000',
    ],
    [
      'required',
      { schema: { required: range(100_000).map(String) } },
      '100000 properties at one place; the bound is 2000',
    ],
    [
      'allOf',
      { schema: { allOf: range(10_000).map(() => true) } },
      '10000 alternatives here; the bound is 2000',
    ],
    [
      'multipleOf',
      { schema: { type: 'number', allOf: range(500).map((i) => ({ multipleOf: i + 2 })) } },
      '500 different values of multipleOf at one place; the bound is 100: give their least common multiple',
    ],
    [
      'prefixItems',
      { schema: { prefixItems: range(100_000).map(() => true) } },
      '100000 schemas; at most 10000',
    ],
    ['long const', { schema: { const: 'x'.repeat(4 << 20) } }, '4194306 bytes; at most 262144'],
    ['choice', { choices: ['x'.repeat(4 << 20)] }, '4194304 bytes; at most 262144'],
    ['literal', { structure: { literal: 'x'.repeat(1 << 20) } }, '1048576 bytes; at most 262144'],
    ['key', { schema: { properties: { ['k'.repeat(1 << 20)]: true } } }, '1048576 bytes; at most 262144'],
    ['members', { schema: keyed(30_000, () => 1) }, 'more than 20000 members'],
    ['$ref', { schema: { $ref: `#${'/a'.repeat(100_000)}` } }, '200001 characters; at most 8192'],
    ['$id', { schema: { $id: `http://x/${'a'.repeat(100_000)}` } }, '100009 characters; at most 8192'],
    [
      'set',
      { regex: `[${String.fromCodePoint(...range(8000).map((i) => 0x1000 + 3 * i))}]` },
      '8000 ranges; at most 2000',
    ],
    [
      'sets',
      {
        regex: range(2500)
          .map((i) => `[^\\p{L}${String.fromCodePoint(0x4e00 + i)}]`)
          .join(''),
      },
      'more than 50000 ranges in all',
    ],
    [
      'GBNF set',
      { gbnf: `root ::= [${String.fromCodePoint(...range(40_000).map((i) => 0x1000 + i))}]` },
      '2001 ranges; at most 2000',
    ],
    ['groups', { regex: `${'('.repeat(16_000)}a${')'.repeat(16_000)}` }, 'nested more than 100 deep'],
    [
      'GBNF groups',
      { gbnf: `root ::= ${'('.repeat(90_000)}"a"${')'.repeat(90_000)}` },
      'nested more than 200 deep',
    ],
  ])('%s', async (_, source, message) => {
    await expect(compileInTurns(source)).rejects.toThrow(message);
  });
});

describe('large sources are compiled', () => {
  test.each<[string, GrammarSource, string]>([
    ['enum', { schema: { enum: range(2000).map((i) => `value_${i}`) } }, '"value_1999"'],
    ['enum of prefixes', { schema: { enum: range(500).map((i) => 'a'.repeat(i)) } }, `"${'a'.repeat(499)}"`],
    ['choices', { choices: range(20_000).map((i) => `c${i}`) }, 'c19999'],
    ['excluded', { schema: { type: 'string', not: { enum: range(2000).map((i) => `v${i}`) } } }, '"v2000"'],
    [
      'allOf',
      { schema: { allOf: range(2000).map((i) => ({ properties: { [`k${i}`]: { type: 'null' } } })) } },
      '{"k1999":null}',
    ],
    ['chain of $ref', { schema: { ...linked(5000, (next) => next), $ref: '#/$defs/k0' } }, '"x"'],
    [
      'chain of required values',
      {
        schema: {
          properties: keyed(1000, (i) => ({ $ref: `#/$defs/k${i}` })),
          ...linked(1000, (n) => ({ type: 'object', required: ['n'], properties: { n } })),
        },
      },
      '{"k998":{"n":"x"}}',
    ],
    [
      'GBNF rules',
      {
        gbnf: `root ::= r0\n${range(5000)
          .map((i) => `r${i} ::= r${i + 1}`)
          .join('\n')}\nr5000 ::= "x"`,
      },
      'x',
    ],
    ['GBNF sequence', { gbnf: `root ::= (${'"a" '.repeat(20_000)}) "x"` }, `${'a'.repeat(20_000)}x`],
    ['GBNF choices', { gbnf: `root ::= (${'("a" | "b") '.repeat(1000)}) "x"` }, `${'ab'.repeat(500)}x`],
    ['GBNF sets', { gbnf: `root ::= ${'[^é] '.repeat(2000)}` }, 'x'.repeat(2000)],
    ['bound', { schema: { type: 'number', maximum: 1e300 } }, '12'],
  ])('%s', async (_, source, text) => {
    expect((await compileInTurns(source)).test(text)).toBe(true);
  });

  test('a large bound is as many expressions as digits', () => {
    const strings = new Strings();
    const before = strings.regexes.size;
    atOnce(structureWork({ schema: { type: 'number', minimum: 1.5, maximum: 1e300 } }, {}, strings));
    expect(strings.regexes.size - before).toBeLessThan(5000);
  });
});

test('excluded, listed and bounded values are the same as before', async () => {
  const bounded = await compileInTurns({
    schema: { type: 'number', exclusiveMinimum: -20.5, maximum: 1234.25 },
  });
  for (const value of ['-20.4', '0', '1234.25', '1234.249', '999.99', '1233.9'])
    expect([value, bounded.test(value)]).toEqual([value, true]);
  for (const value of ['-20.5', '-21', '1234.26', '1235', '1234.251', '10000', '1300'])
    expect([value, bounded.test(value)]).toEqual([value, false]);
  const listed = await compileInTurns({ choices: ['a', 'ab', 'abc', 'b', 'é', 'è', '😀'] });
  for (const text of ['a', 'ab', 'abc', 'b', 'é', 'è', '😀']) expect(listed.test(text)).toBe(true);
  for (const text of ['', 'abcd', 'ac', 'bc', 'ê', '😁']) expect(listed.test(text)).toBe(false);
});

test('values that require each other in a long cycle', async () => {
  const cycle = keyed(500, (i) => ({
    type: 'object',
    required: ['n'],
    properties: { n: { $ref: `#/$defs/k${(i + 1) % 500}` } },
  }));
  const schema = { properties: keyed(500, (i) => ({ $ref: `#/$defs/k${i}` })), $defs: cycle };
  await expect(compileInTurns({ schema })).rejects.toThrow('in a cycle of more than 100');
});

test('each round of the event loop has one turn, however much work there is', async () => {
  let round = 0;
  const count = () => {
    round++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const turns = new Map<number, Set<string>>();
  function* work(name: string): Work<void> {
    for (const rounds = new Set<number>(); rounds.size < 5; yield) {
      rounds.add(round);
      turns.set(round, (turns.get(round) ?? new Set()).add(name));
    }
  }
  await Promise.all(['a', 'b', 'c'].map((name) => inTurns(work(name))));
  clearImmediate(next);
  turns.delete(0); // all begin at once
  expect(turns.size).toBeGreaterThanOrEqual(12);
  for (const names of turns.values()) expect(names.size).toBe(1);
});

test('works that start in one round share its first turn', async () => {
  let clock = 0;
  const { now } = performance;
  performance.now = () => clock;
  let parts = 0;
  function* work(): Work<void> {
    for (let part = 0; part < 100; part++) {
      parts++;
      clock++;
      yield;
    }
  }
  const all = range(20).map(() => startInTurns(work()));
  performance.now = now;
  expect(parts).toBeLessThan(20 + 8); // one part of each, and four milliseconds
  await Promise.all(all);
  expect(parts).toBe(2000);
});

describe('masks in turns', () => {
  const letters = [...'abcdefgh'];
  const texts = letters.flatMap((a) => letters.flatMap((b) => letters.flatMap((c) => [a + b + c, a + b])));
  const tokens = [...letters, ...new Set(texts)].map((text) => new TextEncoder().encode(text));
  const vocabulary = new Vocabulary([...tokens, new Uint8Array(0)], { endOfText: [tokens.length] });

  const schema = { type: 'string', maxLength: 900, not: { pattern: '(a|b)*a(a|b){9}c' } };
  const maskOf = (act: (matcher: Matcher, into: Int32Array) => void) => {
    const into = new Int32Array(vocabulary.words);
    const matcher = compileSchema(schema).matcher(vocabulary);
    matcher.acceptBytes(new TextEncoder().encode('"ab'));
    act(matcher, into);
    return { matcher, into };
  };

  test('they are the same, and then at hand', async () => {
    const expected = maskOf((matcher, into) => matcher.mask(into)).into;
    const { matcher, into } = maskOf(() => {});
    await matcher.maskInTurns(into);
    expect(into).toEqual(expected);
    expect(matcher.maskInTurns(into.fill(0))).toBeUndefined();
    expect(into).toEqual(expected);
  });
});

test('an abort ends the compiling at the next turn', async () => {
  const abort = new AbortController();
  const source = { schema: { enum: range(2000).map((i) => `value_${i}`.repeat(20)) } };
  const compiled = compileInTurns(source, { signal: abort.signal });
  abort.abort(new Error('enough'));
  await expect(compiled).rejects.toThrow('enough');
});

test('long sequences do not exhaust the stack', () => {
  const long = 'ab'.repeat(7_500);
  expect(compileRegex(`(?:${long})x`).test(`${long}x`)).toBe(true);
  expect(compileSchema({ const: long }).test(JSON.stringify(long))).toBe(true);
});

test('properties of characters are those of the engine', () => {
  for (const name of ['L', 'Nd', 'Emoji_Presentation']) {
    const grammar = compileRegex(`\\p{${name}}`);
    const engine = new RegExp(`^\\p{${name}}$`, 'u');
    for (let point = 0; point < 0x20000; point += 211) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const char = String.fromCodePoint(point);
      expect([point, grammar.test(char)]).toEqual([point, engine.test(char)]);
    }
  }
  expect(() => compileRegex('\\p{Nonsense}')).toThrow('unknown property');
});
