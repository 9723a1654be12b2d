import { compileSchema, compileStructure, Vocabulary } from '../src/index.js';

/** [values that may come, values that may not] */
const formats: Readonly<Record<string, readonly [readonly unknown[], readonly unknown[]]>> = {
  'uri-template': [
    ['http://x/{id}', '{+path}/here{?q,w*}', 'a{b:3}'],
    ['{', 'a{b', '{b:0}', '{=x}', '%zz', 'a b'],
  ],
  iri: [
    ['http://ƒøø.ßår/?∂éœ=πîx#πîüx', 'http://x'],
    ['/abc', '\\\\WIN', 'âππ', 'http:// a'],
  ],
  'iri-reference': [
    ['/âππ', '#ƒ', 'âππ'],
    ['\\\\x', '#ƒrägmên\\t'],
  ],
  'idn-email': [
    ['실례@실례.테스트', 'a@b.c'],
    ['2962', '@x'],
  ],
  'idn-hostname': [
    ['실례.테스트', 'example.com', 'müller.de'],
    ['〮실례', '-x', 'a..b', ''],
  ],
  'name-email': [['Ada Byron <ada@x.org>'], ['ada@x.org']],
  regex: [
    ['^\\d{3}-[a-z]+$', '(ab|c)*?d', '[^a-f0-9_]', '', 'a{2,5}', '\\p{L}+'],
    ['(', '[a', 'a**', '{1}', 'a{5,2}', '[z-a]', '*', ')'],
  ],
  jwt: [['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_'], ['a.b.c', 'eyJ..', 'eyJa.b']],
  base64: [
    ['', 'aGk=', 'aGVs'],
    ['a', 'a===', 'aG-='],
  ],
  base64url: [
    ['', 'aGk', 'aG-_'],
    ['a', '+abc'],
  ],
  hex: [['', 'aF0'], ['g']],
  int8: [
    [-128, 127],
    [-129, 128, 1.5],
  ],
  int16: [
    [-32768, 32767],
    [-32769, 32768],
  ],
  int64: [
    [-9e18, 9e18],
    [-1e19, 1e19, 0.5],
  ],
  uint8: [
    [0, 255],
    [-1, 256, 1.5],
  ],
  uint: [
    [0, 1e19],
    [-1, 1e20],
  ],
  uint64: [
    [0, 1e19],
    [-1, 1e20],
  ],
  unixtime: [[-1, 1e9], [0.5]],
  ip: [['1.2.3.4', '::1'], ['1.2.3']],
  cidrv4: [['1.2.3.4/24'], ['1.2.3.4/33', '1.2.3.4']],
  cidrv6: [['::1/128'], ['::1/129', '::1']],
  ipv4network: [['10.0.0.0/8', '1.2.3.4/32'], ['10.1.0.0/8']],
  ipv6network: [['2001:db8::/32', '::1/128'], ['2001:db8::1/32']],
  mac: [['AA:BB:CC:00:11:22'], ['AA:BB']],
  uuid4: [['123e4567-e89b-42d3-a456-426614174000'], ['123e4567-e89b-12d3-a456-426614174000']],
  guid: [['123e4567-e89b-12d3-a456-426614174000'], ['1']],
  emoji: [
    ['😀', '😀🎉'],
    ['a', ''],
  ],
  e164: [['+4912345678'], ['4912345678']],
  ulid: [['01ARZ3NDEKTSV4RRFFQ69G5FAV'], ['x']],
  'http-date': [['Sun, 06 Nov 1994 08:49:37 GMT'], ['Sunday, 06']],
  'iso-date-time': [['2024-01-01T10:00:00Z'], ['2024-01-01']],
  'partial-date-time': [['2024-01-01T10:00:00'], ['2024-01-01T10:00:00Z']],
  'json-pointer-uri-fragment': [['#/a/b'], ['/a']],
  char: [
    ['a', '😀'],
    ['', 'ab'],
  ],
};

test.each(Object.entries(formats))('format %s', (format, [valid, invalid]) => {
  const grammar = compileSchema({ format }, { unknownFormats: 'refuse' });
  for (const value of valid) expect([value, grammar.test(JSON.stringify(value))]).toEqual([value, true]);
  for (const value of invalid) expect([value, grammar.test(JSON.stringify(value))]).toEqual([value, false]);
});

const ascii = Array.from({ length: 129 }, (_, i) => (i < 128 ? Uint8Array.of(i) : new Uint8Array(0)));
const vocabulary = new Vocabulary(ascii, { endOfText: [128] });

/** A random text of the format, without quotes. */
function randomText(format: string, seed: number): string {
  const matcher = compileStructure({ text: { type: 'string', format }, without: [] }).matcher(vocabulary);
  let state = seed * 7919;
  let text = '';
  while (!(matcher.isAccepting && text.length >= 12) && text.length < 60) {
    const allowed = Array.from({ length: 128 }, (_, code) => code).filter((code) => matcher.allows(code));
    if (allowed.length === 0) break;
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const code = allowed[(state >>> 8) % allowed.length] as number;
    matcher.accept(code);
    text += String.fromCharCode(code);
  }
  return matcher.isAccepting ? text : '';
}

test('random texts of the format regex are regular expressions, with the flag u and without', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const text = randomText('regex', seed);
    expect(() => [new RegExp(text), new RegExp(text, 'u')]).not.toThrow();
  }
});

test('a format that is no language is ignored with a notice, and refused on request', () => {
  const schema = { type: 'object', properties: { a: { type: 'string', format: 'json-string' } } };
  const grammar = compileSchema(schema);
  expect(grammar.test('{"a":"{"}')).toBe(true);
  expect(grammar.notices).toEqual([
    '/properties/a/format: the format "json-string" is not one that can be enforced: it is ignored, any string may come',
  ]);
  expect(() => compileSchema(schema, { unknownFormats: 'refuse' })).toThrow('/properties/a/format');
});

test('structures say it of all schemas, or of one', () => {
  const schema = { type: 'string', format: 'json-string' };
  expect(compileStructure({ schema }).notices).toHaveLength(1);
  expect(() => compileStructure({ schema, unknownFormats: 'refuse' })).toThrow('json-string');
  expect(() => compileStructure({ schema }, { unknownFormats: 'refuse' })).toThrow('json-string');
});

test.each([
  {},
  { type: 'number' },
  { type: 'integer' },
  { type: 'integer', minimum: 0 },
  { type: 'integer', maximum: 0 },
  { type: 'number', minimum: -1 },
  { type: 'number', multipleOf: 0.5 },
  { type: 'number', exclusiveMaximum: 1 },
  { type: 'integer', not: { const: 5 } },
  { format: 'int32' },
  { const: -0 },
  { enum: [-0, 'a'] },
])('-0 is never written: %j', (schema) => {
  const grammar = compileSchema(schema);
  for (const text of ['-0', '-0.0', '-0e5', '-0.00E-3'])
    expect([text, grammar.test(text)]).toEqual([text, false]);
  expect(grammar.test('0')).toBe(true);
});

test('no number overflows or vanishes', () => {
  const grammar = compileSchema({ type: 'number' });
  const texts = ['1e400', '-1e-400', '1e299', '-1e-299', '-0.5', '-10', '1.5E+07'];
  expect(texts.filter((text) => grammar.test(text))).toEqual(['1e299', '-1e-299', '-0.5', '-10', '1.5E+07']);
});
