import fc from 'fast-check';
import { AnswerParser } from '../../../src/chat/answer/index.js';
import { cut, part } from './read.js';

const types = {
  s: { type: 'string' },
  b: { type: 'boolean' },
  n: { type: 'number' },
  o: { type: 'object' },
  l: { type: 'array' },
  z: { type: 'null' },
  sz: { type: ['string', 'null'] },
  sb: { anyOf: [{ type: 'string' }, { type: 'boolean' }] },
  e: { enum: ['True', 'x', 5, null] },
  any: {},
};
const tools = [{ name: 'f', parameters: { type: 'object', properties: types } }];
const call = (...parameters: string[]) =>
  `<tool_call>\n<function=f>\n${parameters.join('')}</function>\n</tool_call>`;
const parameter = (key: string, text: string) => `<parameter=${key}>\n${text}\n</parameter>\n`;
const read = (text: string, chunks = [...text]) => part(chunks, { calls: 'qwen3-coder', tools });
/** The JSON of one parameter. */
const json = (key: string, text: string) => {
  const { arguments: args } = read(call(parameter(key, text))).calls[0]!;
  return args.slice(`{"${key}": `.length, -1);
};

test.each([
  ['b', 'True', 'true'],
  ['b', 'False', 'false'],
  ['b', 'true', 'true'],
  ['b', ' True ', 'true'],
  ['z', 'None', 'null'],
  ['any', 'True', 'true'],
  ['any', 'None', 'null'],
  ['any', 'Truest', '"Truest"'],
  ['s', 'True', '"True"'],
  ['s', '12', '"12"'],
  ['sz', 'None', 'null'],
  ['sz', 'null', 'null'],
  ['sz', 'True', '"True"'],
  ['sz', '12', '"12"'],
  ['sz', '{"a": 1}', '"{\\"a\\": 1}"'],
  ['sz', '"x"', '"x"'],
  ['sb', 'False', 'false'],
  ['sb', 'None', '"None"'],
  ['e', 'True', '"True"'],
  ['e', '5', '5'],
  ['e', 'None', 'null'],
  [
    'o',
    "{'a': True, 'b': [None, (1, 2)], \"c\": 'it\\'s'}",
    '{"a": true, "b": [null, [1, 2]], "c": "it\'s"}',
  ],
  ['o', '{"a": "\\/", "b": {}}', '{"a": "\\/", "b": {}}'],
  ['o', "{'a': '\\/'}", '{"a": "/"}'],
  ['l', "['x', 1_000, 0xffffffffffffffff]", '["x", 1000, 18446744073709551615]'],
  ['l', '[1,\n 2]', '[1,\n 2]'],
  ['l', '[]', '[]'],
  ['o', "{'a': oops}", '"{\'a\': oops}"'],
  ['any', '[see] the docs', '"[see] the docs"'],
  ['any', '(1, 2)', '"(1, 2)"'],
  ['any', '1. First', '"1. First"'],
  ['any', '', '""'],
  ['n', '1234567890123456789', '1234567890123456789'],
  ['n', '1e400', '1e400'],
  ['n', '1.0', '1.0'],
  ['n', '-.5', '-0.5'],
  ['o', '{"id": 1234567890123456789, "x": 1e400}', '{"id": 1234567890123456789, "x": 1e400}'],
  ['s', '\n\nx\n\n', '"\\n\\nx\\n\\n"'],
])('%s: %j', (key, text, expected) => {
  expect(json(key, text)).toBe(expected);
});

const only = (args: string, text = '') => ({
  text,
  thinking: '',
  calls: [{ id: 'id0', name: 'f', arguments: args }],
});

describe('a missing </parameter>', () => {
  test.each([
    ['before another parameter', '<parameter=s>\nx\n<parameter=b>\nTrue\n</parameter>\n'],
    ['in one line', '<parameter=s>x<parameter=b>True</parameter>'],
    ['of all', '<parameter=s>\nx\n<parameter=b>\nTrue\n'],
  ])('%s', (_, parameters) => {
    expect(read(call(parameters))).toEqual(only('{"s": "x", "b": true}'));
  });

  test('before the end of the function, of the call, of the answer, and before another call', () => {
    const begin = '<tool_call>\n<function=f>\n<parameter=s>\nx\n';
    for (const end of ['</function>\n</tool_call>', '</tool_call>', '</function>', '</function>\n'])
      expect(read(begin + end)).toEqual(only('{"s": "x"}'));
    const two = read(`${begin}</function>\n${call(parameter('b', 'True'))}`);
    expect(two.calls.map((each) => each.arguments)).toEqual(['{"s": "x"}', '{"b": true}']);
    const bare = read(`<function=f><parameter=s>x</function>\n<function=f></function>`);
    expect(bare.calls.map((each) => each.arguments)).toEqual(['{"s": "x"}', '{}']);
  });

  test('what is no end of a parameter stays in it', () => {
    for (const text of [
      '</function>',
      '</function>\nso',
      '<parameter=other>\n1',
      '<parameter=s>',
      '<parameter',
      '</f',
    ])
      expect(json('s', text)).toBe(JSON.stringify(text));
  });

  test('a call without its end, before another one', () => {
    const { calls } = read(`<tool_call>\n<function=f>\n${parameter('s', 'x')}${call(parameter('s', 'y'))}`);
    expect(calls.map((each) => each.arguments)).toEqual(['{"s": "x"}', '{"s": "y"}']);
  });
});

test('strings come in small pieces, also where the schema does not say that they are', () => {
  const text = 'const a = "ü😀\\n";\n'.repeat(200);
  for (const key of ['s', 'any', 'sz', 'unknown']) {
    const parser = new AnswerParser({ calls: 'qwen3-coder', tools });
    const pieces = [...call(parameter(key, text))].flatMap((c) => parser.push(c));
    expect(pieces.length).toBeGreaterThan(text.length * 0.8);
    for (const piece of pieces) if (piece.type === 'arguments') expect(piece.text.length).toBeLessThan(20);
  }
});

test('half characters across chunks', () => {
  const text = call(parameter('s', 'a😀\ud83d'));
  expect(part(text.split(''), { calls: 'qwen3-coder', tools })).toEqual(read(text, [text]));
});

test('an answer that ends in a parameter', () => {
  expect(read('<tool_call>\n<function=f>\n<parameter=s>\nabc</para').calls[0]!.arguments).toBe('{"s": "abc');
  expect(read('<tool_call>\n<function=f>\n<parameter=n>\n12').calls[0]!.arguments).toBe('{');
});

test('any pieces, cut anywhere: the same calls, and JSON where the call is whole', () => {
  const pieces = fc.constantFrom(
    ...[
      '<tool_call>\n',
      '<function=f>\n',
      '</function>',
      '\n',
      '</tool_call>',
      '</parameter>\n',
      ' ',
      '"',
      "'",
    ],
    ...['<parameter=s>\n', '<parameter=any>', '<parameter=b>\n', '<parameter=o>', '<parameter=x>'],
    ...['True', 'None', '{', '}', '[', ']', '12', ',', 'x', '\\', '\ud83d', '😀', '"a": 1', "'b': False"],
  );
  const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 14 }), shares, (parts, cuts) => {
      const answer = `<tool_call>\n<function=f>\n<parameter=s>\n${parts.join('')}`;
      expect(read(answer, cut(answer, cuts))).toEqual(read(answer, [answer]));
      const whole = `${answer}\n</parameter>\n</function>\n</tool_call>`;
      const { calls } = read(whole, cut(whole, 'every character'));
      expect(read(whole, [whole]).calls).toEqual(calls);
      for (const { arguments: args } of calls) expect(typeof JSON.parse(args)).toBe('object');
    }),
    { numRuns: 400 },
  );
});
