import fc from 'fast-check';
import { JsonNumber, parseJson, stringifyJson } from '../../src/index.js';

const digits = [
  '1234567890123456789',
  '-9223372036854775808',
  '1e400',
  '-1E-400',
  '1.0',
  '0.12345678901234567890',
  '-0',
  '1.50',
  `${'9'.repeat(5000)}`,
];

test.each(digits)('number %# keeps its digits', (text) => {
  const nested = `{"a":[${text},{"b":${text}}],"c":${text}}`;
  expect(stringifyJson(parseJson(nested))).toBe(nested);
  expect(stringifyJson(parseJson(text))).toBe(text);
});

test('numbers, bigints and texts', () => {
  expect(parseJson('[1, -2.5, 1e+21, 9007199254740993, 1e400]')).toEqual([
    1,
    -2.5,
    1e21,
    9007199254740993n,
    new JsonNumber('1e400'),
  ]);
  expect(Number(new JsonNumber('1.50'))).toBe(1.5);
  expect(`${new JsonNumber('1.50')}`).toBe('1.50');
});

test('everything else as JSON.parse and JSON.stringify', () => {
  const values = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), fc.jsonValue()),
  );
  fc.assert(
    fc.property(values, fc.nat(3), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      expect(parseJson(`{"x": 1.0, "y": ${text}}`)).toEqual({
        x: new JsonNumber('1.0'),
        y: parseJson(text),
      });
      expect(stringifyJson(JSON.parse(text))).toBe(JSON.stringify(JSON.parse(text)));
      expect(JSON.parse(stringifyJson(parseJson(text))!)).toEqual(JSON.parse(text));
    }),
    { numRuns: 100 },
  );
  const odd = {
    a: undefined,
    b: [undefined, () => 1, Number.NaN],
    c: new Date(0),
    d: Object(1),
    e: Symbol.iterator,
  };
  expect(stringifyJson(odd)).toBe(JSON.stringify(odd));
  expect(stringifyJson(undefined)).toBeUndefined();
});

test('strings with quotes, backslashes and what looks like numbers', () => {
  const text = '{"a\\\\":"1.0 \\" 1e400","\\"":["\\\\",1.0],"__proto__":1.0}';
  expect(stringifyJson(parseJson(text))).toBe(text);
  expect(Object.getPrototypeOf(parseJson(text))).toBe(Object.prototype);
});

test.each(['', '{', '[1.0,]', '01', '1.', '{"a":1.0', 'NaN', '[1.0] x'])('no JSON: %s', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

test('deep nesting takes no stack; a circle is refused', () => {
  const deep = '['.repeat(100_000) + 1.5e300 + ']'.repeat(100_000);
  expect(Array.isArray(parseJson(deep.replace('1.5e+300', '1.0')))).toBe(true);
  const circle: unknown[] = [];
  circle.push(circle);
  expect(() => stringifyJson(circle)).toThrow(TypeError);
});
