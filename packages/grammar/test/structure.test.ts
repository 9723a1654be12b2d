import { compileStructure, GrammarError, type Structure, Vocabulary } from '../src/index.js';

const call: Structure = {
  sequence: [
    { literal: '<call>{"name": "add", "arguments": ' },
    {
      schema: {
        type: 'object',
        properties: { a: { type: 'integer' }, text: { type: 'string' } },
        required: ['a'],
        additionalProperties: false,
      },
    },
    { literal: '}</call>' },
  ],
};

test('a schema between literal texts', () => {
  const grammar = compileStructure(call);
  expect(grammar.test('<call>{"name": "add", "arguments": {"a": 3}}</call>')).toBe(true);
  expect(grammar.test('<call>{"name": "add", "arguments": {"a": 3, "text": "}</call>\\""}}</call>')).toBe(
    true,
  );
  expect(grammar.test('<call>{"name": "add", "arguments": {"a": "3"}}</call>')).toBe(false);
  expect(grammar.test('<call>{"name": "add", "arguments": {}}</call>')).toBe(false);
  expect(grammar.test('<call>{"name": "add", "arguments": {"a": 3}}')).toBe(false);
});

test('alternatives, repetitions, patterns', () => {
  const grammar = compileStructure({
    sequence: [
      { repeat: { sequence: [{ regex: '[a-c]+' }, { literal: ';' }] }, least: 1, most: 2 },
      { oneOf: [{ schema: { enum: [1, 2] } }, { literal: '' }] },
      { repeat: { literal: '!' }, least: 0 },
    ],
  });
  for (const text of ['ab;', 'a;b;', 'a;b;1', 'c;2!!!', 'c;!'])
    expect([text, grammar.test(text)]).toEqual([text, true]);
  for (const text of ['', ';', 'a;b;c;', 'a;3', 'a', 'd;'])
    expect([text, grammar.test(text)]).toEqual([text, false]);
});

describe('strings as they are', () => {
  const grammar = (text: object | boolean, without = ['</p>', '</q>']) =>
    compileStructure({ sequence: [{ literal: '<p>' }, { text, without }, { literal: '</p>' }] });
  const fits = (it: ReturnType<typeof grammar>, text: string) => it.test(`<p>${text}</p>`);

  test.each<[object | boolean, readonly string[], readonly string[]]>([
    [{ type: 'string' }, ['', 'a "b"\\\n', 'ü😀', '<', '<</', '</p'], ['</p>', 'a</q>b', '</p></p>']],
    [{ enum: ['a "b"', 'c', 5] }, ['a "b"', 'c'], ['', '5', '"c"', 'a \\"b\\"']],
    [{ const: '</p>x' }, [], []],
    [{ type: 'string', minLength: 2, maxLength: 3 }, ['ab', 'ü😀\n'], ['a', 'abcd', '']],
    [{ type: 'string', pattern: '^[a-c"]+$', maxLength: 4 }, ['a"b', 'c'], ['d', 'a\\"', 'abcab', '']],
    [{ type: 'string', pattern: '</' }, ['a</b', '</'], ['', 'a', '</p>']],
    [{ type: 'string', format: 'date' }, ['2026-11-26'], ['2026-13-26', '"2026-11-26"']],
    [{ type: 'string', not: { enum: ['no'] } }, ['yes', 'nothing', ''], ['no']],
    [
      { anyOf: [{ const: 'x' }, { type: 'string', minLength: 3 }, { type: 'integer' }] },
      ['x', '123'],
      ['12', 'y'],
    ],
  ])('%j', (schema, good, bad) => {
    if (good.length === 0) expect(() => grammar(schema)).toThrow('no string fits');
    else {
      const it = grammar(schema);
      for (const text of good) expect([text, fits(it, text)]).toEqual([text, true]);
      for (const text of bad) expect([text, fits(it, text)]).toEqual([text, false]);
    }
  });

  test('faults are named as in schemas', () => {
    expect(() => grammar({ type: 'integer' })).toThrow('no string fits');
    const schema = { type: 'string', format: 'nosuch' };
    expect(() => compileStructure({ text: schema, without: [], unknownFormats: 'refuse' })).toThrow(/nosuch/);
  });
});

test('a mark that is one token of the vocabulary', () => {
  const bytes = [...'<cal>/{}":namedrgutsx 3,'].map((letter) => new TextEncoder().encode(letter));
  const texts = [...bytes, new TextEncoder().encode('<call>'), new Uint8Array(0)];
  const vocabulary = new Vocabulary(texts, { endOfText: [texts.length - 1] });
  const matcher = compileStructure(call).matcher(vocabulary);
  expect(matcher.allows(texts.length - 2)).toBe(true);
  expect(matcher.allows(texts.length - 1)).toBe(false);
  expect(matcher.forced()[0]).toBe(texts.length - 2);
});

test('faults are named as in schemas and patterns; nesting has a bound', () => {
  expect(() => compileStructure({ schema: { uniqueItems: true, type: 'array' } })).toThrow(/uniqueItems/);
  expect(() => compileStructure({ regex: '(' })).toThrow();
  let deep: Structure = { literal: 'a' };
  for (let i = 0; i < 200; i++) deep = { sequence: [deep] };
  expect(() => compileStructure(deep)).toThrow(/nested/);
});

test.each([
  [undefined, /one of literal, regex/],
  [{}, /one of literal, regex/],
  [{ litteral: 'a' }, /one of literal, regex/],
  [{ literal: 5 }, /literal of a part/],
  [{ text: { type: 'string' } }, /without of a part/],
  [{ text: { type: 'string' }, without: 'x' }, /without of a part/],
  [{ text: { type: 'string' }, without: [1] }, /without of a part/],
  [{ text: true, schema: true, without: [] }, /got schema and text|got text and schema/],
  [{ sequence: [5] }, /sequence of a part/],
  [{ sequence: [{ oneOf: {} }] }, /oneOf of a part/],
  [{ repeat: { literal: 'a' } }, /least of a part/],
  [{ repeat: { literal: 'a' }, least: 0, most: -1 }, /most of a part/],
])('no structure: %j', (structure, message) => {
  expect(() => compileStructure(structure as never)).toThrow(message);
  expect(() => compileStructure(structure as never)).toThrow(GrammarError);
});
