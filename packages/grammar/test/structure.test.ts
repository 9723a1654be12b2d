import { compileStructure, type Structure, Vocabulary } from '../src/index.js';

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
