import { compileSchema, parseJson } from '../src/index.js';

/** Those of `texts` that fit a schema given as JSON text. */
const fitting = (schema: string, texts: readonly string[]): string[] => {
  const grammar = compileSchema(parseJson(schema) as object);
  return texts.filter((text) => grammar.test(text));
};

const large = ['9223372036854775806', '9223372036854775807', '9223372036854775808', '9223372036854776000'];

test('bounds beyond 2^53 keep their digits', () => {
  expect(fitting('{"type": "integer", "maximum": 9223372036854775807}', large)).toEqual(large.slice(0, 2));
  expect(fitting('{"type": "integer", "maximum": 9223372036854775807.0}', large)).toEqual(large.slice(0, 2));
  expect(fitting('{"type": "integer", "exclusiveMaximum": 9223372036854775807}', large)).toEqual([large[0]]);
  expect(fitting('{"type": "integer", "minimum": 9223372036854775808}', large)).toEqual(large.slice(2));
  expect(fitting('{"type": "integer", "format": "int64"}', large)).toEqual(large.slice(0, 2));
  const negative = large.map((text) => `-${text}`);
  expect(fitting('{"type": "integer", "minimum": -9223372036854775808}', negative)).toEqual(
    negative.slice(0, 3),
  );
  expect(fitting('{"type": "integer", "not": {"minimum": 9223372036854775808}}', large)).toEqual(
    large.slice(0, 2),
  );
});

test('bounds that are no float64', () => {
  const texts = ['0.1', '0.10000000000000000001', '0.10000000000000000002', '0.2'];
  expect(fitting('{"type": "number", "maximum": 0.10000000000000000001}', texts)).toEqual(texts.slice(0, 2));
  const nines = ['9'.repeat(30), `1${'0'.repeat(30)}`, `1${'0'.repeat(29)}1`, '1e31'];
  expect(fitting('{"type": "integer", "maximum": 1e30}', nines)).toEqual(nines.slice(0, 2));
  expect(() => fitting('{"maximum": 1e400}', [])).toThrow('/maximum: it has 401 digits');
  expect(() => fitting('{"maximum": 1e1001}', [])).toThrow('/maximum: 1e1001 cannot be enforced');
  expect(fitting('{"type": "integer", "default": 1e1001}', ['1'])).toEqual(['1']);
});

test('values', () => {
  const ids = ['1234567890123456789', '1234567890123456788', '1234567890123456800'];
  expect(fitting('{"const": 1234567890123456789}', ids)).toEqual([ids[0]]);
  const others = [`1${'0'.repeat(400)}`, '0.12345678901234567891', '"x"'];
  const listed = '{"enum": [1234567890123456789, 1e400, 0.12345678901234567891, "x"]}';
  expect(fitting(listed, [...ids, ...others])).toEqual([ids[0], ...others]);
  expect(fitting('{"type": "integer", "not": {"const": 1234567890123456789}}', ids)).toEqual(ids.slice(1));
  expect(fitting('{"enum": [1.0, 2e0], "minimum": 1.0}', ['1', '2', '1.0'])).toEqual(['1', '2']);
  expect(fitting('{"enum": [9223372036854775807, 9223372036854775808], "format": "int64"}', large)).toEqual([
    large[1],
  ]);
});

test('counts in other spellings', () => {
  const schema = '{"type": "string", "minLength": 1.0, "maxLength": 9223372036854775807}';
  expect(fitting(schema, ['""', '"a"'])).toEqual(['"a"']);
  expect(fitting('{"type": "number", "multipleOf": 0.50}', ['1.5', '1.2'])).toEqual(['1.5']);
});

test('bigints in schemas that programs write', () => {
  const grammar = compileSchema({ type: 'integer', maximum: 2n ** 63n - 1n } as object);
  expect(large.filter((text) => grammar.test(text))).toEqual(large.slice(0, 2));
});
