import { compileStructure, Vocabulary } from '@quern/grammar';
import { callStructure } from '../../../src/chat/answer/call-structure.js';
import { callFormats } from '../../../src/chat/answer/index.js';
import { part } from './read.js';

const parameters = {
  type: 'object',
  properties: {
    city: { type: 'string', maxLength: 12 },
    days: { type: 'array', items: { type: 'integer', minimum: 0, maximum: 99 }, maxItems: 2 },
    exact: { type: 'boolean' },
  },
  required: ['days'],
  additionalProperties: false,
};
const tools = [
  { name: 'weather', parameters },
  { name: 'now', parameters: { type: 'object', properties: {}, additionalProperties: false } },
];

const end = 128;
const ascii = Array.from({ length: end }, (_, code) => Uint8Array.of(code));
const vocabulary = new Vocabulary([...ascii, new Uint8Array(0)], { endOfText: [end] });

/** Numbers from 0 to 1, the same in every run. */
function* random(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** A text of the structure, a character at a time; it ends parameters early. */
function walk(grammar: ReturnType<typeof compileStructure>, seed: number): string | undefined {
  const numbers = random(seed);
  const matcher = grammar.matcher(vocabulary);
  let text = '';
  for (let step = 0; step < 4000; step++) {
    const allowed = ascii.flatMap((_, code) => (matcher.allows(code) ? [code] : []));
    if (matcher.isAccepting && (allowed.length === 0 || numbers.next().value < 0.5)) return text;
    const closing = '</parameter>';
    const begun = [...closing].findLastIndex((_, i) => text.endsWith(closing.slice(0, i)));
    const wanted = [closing.charCodeAt(begun), '"'.charCodeAt(0)].find((code) => allowed.includes(code));
    const any = allowed[Math.floor(numbers.next().value * allowed.length)]!;
    const code = wanted !== undefined && numbers.next().value < 0.7 ? wanted : any;
    matcher.accept(code);
    text += String.fromCharCode(code);
  }
  return undefined;
}

test.each(callFormats)('%s: what the grammar lets through are calls that fit the tools', (format) => {
  const grammar = compileStructure(callStructure(format, tools, { choice: 'required' }));
  const texts = Array.from({ length: 25 }, (_, seed) => walk(grammar, seed + 1)).filter(
    (text) => text !== undefined,
  );
  expect(texts.length).toBeGreaterThan(15);
  const seen = new Set<string>();
  let most = 0;
  for (const text of texts) {
    const { text: rest, calls } = part([...text], { calls: format, tools });
    expect(rest).toBe('');
    expect(calls.length).toBeGreaterThan(0);
    most = Math.max(most, calls.length);
    for (const { name, arguments: json } of calls) {
      seen.add(name);
      const args = JSON.parse(json);
      if (name === 'now') expect(args).toEqual({});
      else expect(args.days.every((day: unknown) => Number.isInteger(day))).toBe(true);
      if ('city' in args) expect(typeof args.city).toBe('string');
      if ('exact' in args) expect(typeof args.exact).toBe('boolean');
    }
  }
  expect(most > 1).toBe(format !== 'llama3-json'); // whose templates take one call per message
  expect([...seen].sort()).toEqual(['now', 'weather']);
});

test.each(callFormats)('%s: a tool without parameters has no arguments', (format) => {
  const grammar = compileStructure(callStructure(format, [{ name: 'ping' }], { choice: 'required' }));
  const texts = Array.from({ length: 9 }, (_, seed) => walk(grammar, seed + 1)).filter(
    (text) => text !== undefined,
  );
  expect(texts.length).toBeGreaterThan(5);
  for (const text of texts)
    for (const call of part([...text], { calls: format, tools }).calls)
      expect([call.name, JSON.parse(call.arguments)]).toEqual(['ping', {}]);
});

test('thoughts before enforced calls', () => {
  const grammar = compileStructure(
    callStructure('hermes', tools, { choice: { name: 'now' }, thinking: 'parted' }),
  );
  const accepts = (text: string) => {
    const matcher = grammar.matcher(vocabulary);
    for (const c of text) {
      if (!matcher.allows(c.charCodeAt(0))) return false;
      matcher.accept(c.charCodeAt(0));
    }
    return matcher.isAccepting;
  };
  const call = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>';
  expect(accepts(call)).toBe(true);
  expect(accepts(`<think>\na </thin < b\n</think>\n\n${call}`)).toBe(true);
  expect(accepts(`<think>${call}`)).toBe(false);
  expect(accepts(`Well. ${call}`)).toBe(false);
  expect(accepts(`${call}\n${call}`)).toBe(false);
});

describe.each(['pythonic', 'qwen3-coder'] as const)('%s writes arguments one by one', (format) => {
  const structure = (parameters: object, name = 'f') =>
    callStructure(format, [{ name, parameters }], { choice: 'required', parallel: false });
  const fits = (parameters: object) => (text: string) => compileStructure(structure(parameters)).test(text);
  const written = (json: string) =>
    format === 'pythonic'
      ? `[f(a=${json})]`
      : `<tool_call>\n<function=f>\n<parameter=a>\n${json}\n</parameter>\n</function>\n</tool_call>`;
  const empty = format === 'pythonic' ? '[f()]' : '<tool_call>\n<function=f>\n</function>\n</tool_call>';

  test.each([
    ['anyOf', { anyOf: [{ required: ['a'] }] }],
    ['const', { const: {} }],
    ['minProperties', { minProperties: 1 }],
    ['if', { if: true }],
    ['patternProperties', { patternProperties: {} }],
    ['$ref', { $ref: 'https://x/y' }],
  ])('%s of the whole is refused by name', (key, more) => {
    const parameters = { type: 'object', properties: { a: { type: 'integer' } }, ...more };
    expect(() => structure(parameters)).toThrow(
      `tools, 'f': this family of calls writes arguments one by one, so ${key}`,
    );
  });

  test('annotations and unknown keywords are not', () => {
    const it = fits({
      type: 'object',
      properties: {},
      title: 'f',
      'x-order': 1,
      additionalProperties: false,
    });
    expect(it(empty)).toBe(true);
  });

  test('a reference to an own definition; required names without a schema', () => {
    const a = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    const referring = fits({ $ref: '#/$defs/a', $defs: { a } });
    expect([referring(written('5')), referring(written('"x"')), referring(empty)]).toEqual([
      true,
      false,
      false,
    ]);
    const unnamed = fits({ type: 'object', required: ['a'] });
    expect([unnamed(written('[5]')), unnamed(empty)]).toEqual([true, false]);
    const impossible = { type: 'object', required: ['a'], additionalProperties: false };
    expect(() => structure(impossible)).toThrow("tools, 'f': 'a' is required, but not allowed");
    const never = fits({ type: 'object', properties: { a: false } });
    expect([never(written('5')), never(empty)]).toEqual([false, true]);
  });

  test('names that the family cannot write are refused', () => {
    const odd = format === 'pythonic' ? 'content-type ü' : 'a>b';
    expect(() => structure({ type: 'object', properties: { [odd]: {} } })).toThrow(
      `cannot have the name ${JSON.stringify(odd)}`,
    );
    expect(() => structure({}, odd)).toThrow(`cannot have the name`);
  });
});

test.each(callFormats)('%s: arguments are an object', (format) => {
  const structure = (parameters: object) =>
    callStructure(format, [{ name: 'f', parameters }], { choice: 'required' });
  expect(() => structure({ type: 'array' })).toThrow("tools, 'f': arguments are an object");
  expect(() => structure({ type: ['string', 'null'] })).toThrow("tools, 'f': arguments are an object");
  expect(() => structure({ type: ['object', 'null'] })).not.toThrow();
});

test('mistral-args: names with spaces are refused', () => {
  expect(() => callStructure('mistral-args', [{ name: 'a b' }], { choice: 'required' })).toThrow(
    'cannot have the name',
  );
});

test('qwen3-coder: strings as they are, where another value may stand', () => {
  const fits = (schema: object) => (text: string) =>
    compileStructure(
      callStructure(
        'qwen3-coder',
        [{ name: 'f', parameters: { properties: { a: schema }, required: ['a'] } }],
        {
          choice: 'required',
        },
      ),
    ).test(`<tool_call>\n<function=f>\n<parameter=a>\n${text}\n</parameter>\n</function>\n</tool_call>`);
  const good = (schema: object, texts: readonly string[]) => texts.filter(fits(schema));
  const texts = ['Linz', '"Linz"', 'null', '5', 'true', 'Graz </parameter> x', '[1]'];
  expect(good({ enum: ['Linz', 5] }, texts)).toEqual(['Linz', '"Linz"', '5']);
  expect(good({ type: ['string', 'null'] }, texts)).toEqual(['Linz', '"Linz"', 'null']);
  expect(good({ anyOf: [{ type: 'string' }, { type: 'integer' }] }, texts)).toEqual(['Linz', '"Linz"', '5']);
  expect(good({ type: 'string' }, texts)).toEqual(['Linz', '"Linz"', 'null', '5', 'true', '[1]']);
  expect(good({ enum: ['5', 'null'] }, texts)).toEqual([]);
});
