import {
  compileChoices,
  compileGbnf,
  compileRegex,
  compileSchema,
  GrammarError,
  Vocabulary,
} from '../src/index.js';

const codeOf = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (error instanceof GrammarError) return `${error.code} ${error.where}`;
    throw error;
  }
  return 'none';
};

/** [schema, valid instances, invalid instances] */
const cases: [unknown, unknown[], unknown[]][] = [
  [{ type: 'integer', minimum: -3, maximum: 12 }, [-3, 0, 9, 12], [-4, 13, 1.5, '1']],
  [{ type: 'number', exclusiveMinimum: 0.5, maximum: 10.25 }, [0.51, 1, 10.25], [0.5, 10.26, -1]],
  [{ type: 'number', multipleOf: 0.25 }, [0, 1, -2.75, 3.5], [0.3, 1.125]],
  [{ type: 'integer', multipleOf: 7 }, [0, 7, -14, 700], [1, 8]],
  [{ type: 'string', minLength: 2, maxLength: 3 }, ['ab', '😀😀', '"\\\n'], ['a', 'abcd', '😀']],
  [{ type: 'string', pattern: '^a+[^b]$' }, ['aac', 'a"', 'a\n'], ['b', 'aab']],
  [{ type: 'string', pattern: 'é|x{2}' }, ['caféx', 'xx'], ['cafe', 'x']],
  [{ format: 'date' }, ['2024-02-29', 5], ['2023-02-29', '2024-13-01']],
  [{ format: 'ipv6' }, ['::1', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4'], ['1::2::3', '12345::']],
  [{ format: 'starts_with', pattern: '^ab.*' }, ['ab', 'abc'], ['b', 'cab']],
  [
    { type: 'string', format: 'ends_with', allOf: [{ pattern: '^a.*' }, { pattern: '.*b$' }] },
    ['ab', 'acb'],
    ['a', 'b', 'ba'],
  ],
  [{ format: 'uuid' }, ['123e4567-e89b-12d3-a456-426614174000'], ['123']],
  [{ enum: ['a', 1, null, { x: [1] }] }, ['a', 1, null, { x: [1] }], ['b', { x: [2] }, 2]],
  [
    {
      type: 'array',
      prefixItems: [{ type: 'string' }],
      items: { type: 'integer' },
      minItems: 1,
      maxItems: 3,
    },
    [['a'], ['a', 1, 2]],
    [[], [1], ['a', 'b'], ['a', 1, 2, 3]],
  ],
  [
    {
      type: 'object',
      properties: { a: { type: 'integer' }, b: true },
      required: ['b'],
      additionalProperties: false,
    },
    [{ b: 1 }, { a: 1, b: 2 }, { b: 1, a: 2 }],
    [{}, { a: 1 }, { b: 1, c: 1 }, { a: 'x', b: 1 }],
  ],
  [
    { patternProperties: { '^x': { type: 'integer' } }, additionalProperties: { type: 'string' } },
    [{ x1: 1, y: 's' }],
    [{ x1: 's' }, { y: 1 }],
  ],
  [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }, 3], [{ abc: 1 }]],
  [{ dependentRequired: { a: ['b'] } }, [{ b: 1 }, { a: 1, b: 1 }, { b: 1, a: 1 }], [{ a: 1 }]],
  [{ maxProperties: 1, required: ['a'] }, [{ a: 1 }], [{ a: 1, b: 2 }, {}, { b: 1 }]],
  [
    JSON.parse(
      '{"if": {"properties": {"t": {"const": "n"}}, "required": ["t"]}, "then": {"required": ["n"]}, "else": {"required": ["m"]}}',
    ),
    [{ t: 'n', n: 1 }, { t: 'm', m: 1 }, { m: 1 }],
    [{ t: 'n' }, { t: 'm' }, {}],
  ],
  [
    { oneOf: [{ required: ['a'] }, { required: ['b'] }], type: 'object' },
    [{ a: 1 }, { b: 1 }],
    [{}, { a: 1, b: 1 }],
  ],
  [{ allOf: [{ minimum: 2 }, { maximum: 3 }], type: 'integer' }, [2, 3], [1, 4]],
  [{ not: { enum: ['a', 1] } }, ['b', 2, null, {}], ['a', 1]],
  [
    {
      $ref: '#/$defs/n',
      $defs: {
        n: {
          type: ['object', 'null'],
          properties: { next: { $ref: '#/$defs/n' } },
          additionalProperties: false,
        },
      },
    },
    [null, { next: { next: null } }],
    [{ next: 1 }],
  ],
];

test.each(cases)('schema %j', (schema, valid, invalid) => {
  const grammar = compileSchema(schema, { keyOrder: 'any' });
  for (const value of valid) expect([value, grammar.test(JSON.stringify(value))]).toEqual([value, true]);
  for (const value of invalid) expect([value, grammar.test(JSON.stringify(value))]).toEqual([value, false]);
});

test.each([
  [{ properties: { a: { contains: {} } } }, 'UNSUPPORTED /properties/a/contains'],
  [{ items: { uniqueItems: true } }, 'UNSUPPORTED /items/uniqueItems'],
  [{ unevaluatedProperties: false }, 'UNSUPPORTED /unevaluatedProperties'],
  [{ format: 'chickens' }, 'UNSUPPORTED /format'],
  [{ format: 'chickens', pattern: '^a' }, 'UNSUPPORTED /format'],
  [{ format: 'starts_with' }, 'UNSUPPORTED /format'],
  [{ pattern: '(?=a)b' }, 'UNSUPPORTED /pattern'],
  [{ $ref: 'http://example.com/x' }, 'BAD_REFERENCE /$ref'],
  [{ $ref: 5 }, 'INVALID /$ref'],
  [{ type: 'strin' }, 'INVALID /type'],
  [{ type: 'string', maxLength: -1 }, 'INVALID /maxLength'],
  [{ allOf: [{ type: 'string' }, { type: 'null' }] }, 'UNSATISFIABLE /'],
  [{ $ref: '#' }, 'INVALID /'],
  [5, 'INVALID /'],
])('refusal of %j', (schema, expected) => {
  expect(codeOf(() => compileSchema(schema, { unknownFormats: 'refuse' }))).toBe(expected);
});

test('what explodes ends in an error or in time', () => {
  const nested = (depth: number): unknown =>
    depth === 0
      ? { type: 'string' }
      : { oneOf: [nested(depth - 1), { type: 'array', items: nested(depth - 1) }] };
  expect(codeOf(() => compileSchema(nested(5)))).toMatch(/^UNSUPPORTED .*oneOf/); // they overlap
  const many = Array.from({ length: 20 }, (_, i) => ({ anyOf: [{ minimum: i }, { minLength: i }] }));
  expect(codeOf(() => compileSchema({ allOf: many }))).toMatch('TOO_COMPLEX');
  let deep: unknown = {};
  for (let i = 0; i < 10_000; i++) deep = { items: deep };
  expect(codeOf(() => compileSchema(deep))).toMatch('TOO_COMPLEX');
  const counted = compileSchema({ type: 'array', items: { maxLength: 1e9, type: 'string' }, maxItems: 1000 });
  expect(counted.test(JSON.stringify(Array(1000).fill('x')))).toBe(true);
  expect(counted.test(JSON.stringify(Array(1001).fill('x')))).toBe(false);
});

test('10 MB of text and 10,000 levels', () => {
  const grammar = compileSchema({
    $ref: '#/$defs/v',
    $defs: { v: { anyOf: [{ type: 'array', items: { $ref: '#/$defs/v' } }, { type: 'string' }] } },
  });
  expect(grammar.test(`"${'a'.repeat(10_000_000)}"`)).toBe(true);
  expect(grammar.test('['.repeat(10_000) + ']'.repeat(10_000))).toBe(true);
  expect(grammar.test('['.repeat(10_000) + ']'.repeat(9_999))).toBe(false);
});

test('lone surrogates are no text', () => {
  const grammar = compileSchema({ type: 'string' });
  expect(grammar.test('"\\ud83d\\ude00"')).toBe(true);
  expect(grammar.test('"\\ud83d"')).toBe(false);
  expect(grammar.test(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22))).toBe(false);
});

test('white space by option', () => {
  const schema = { type: 'array', items: { type: 'null' } };
  const pretty = JSON.stringify([null, null], null, 2);
  expect(compileSchema(schema).test('[null, null]')).toBe(true);
  expect(compileSchema(schema).test(pretty)).toBe(false);
  expect(compileSchema(schema, { whiteSpace: 'none' }).test('[null, null]')).toBe(false);
  expect(compileSchema(schema, { whiteSpace: 'any' }).test(pretty)).toBe(true);
});

test('regular expressions and choices', () => {
  const date = compileRegex(/^\d{4}-\d\d$/);
  expect([date.test('2024-01'), date.test('x2024-01')]).toEqual([true, false]);
  expect(compileRegex('a|bc').test('abc')).toBe(false);
  const choices = compileChoices(['yes', 'no']);
  expect([choices.test('yes'), choices.test('y'), choices.test('yesno')]).toEqual([true, false, false]);
  expect(codeOf(() => compileChoices([]))).toBe('INVALID choices');
  expect(codeOf(() => compileRegex('(a'))).toMatch('INVALID');
  expect(codeOf(() => compileRegex('a\\b'))).toMatch('UNSUPPORTED');
});

test('GBNF', () => {
  const grammar = compileGbnf(`
    root  ::= (expr "=" term "\\n"){1,2} # lines
    expr  ::= term ([-+*/] term)*
    term  ::= [0-9]+ | "(" expr ")"`);
  expect([grammar.test('1+(2*3)=7\n'), grammar.test('1+=7\n'), grammar.test('1=1\n'.repeat(3))]).toEqual([
    true,
    false,
    false,
  ]);
  expect(codeOf(() => compileGbnf('root ::= root "a" | "b"'))).toMatch('UNSUPPORTED');
  expect(codeOf(() => compileGbnf('root ::= a'))).toMatch('BAD_REFERENCE');
  expect(codeOf(() => compileGbnf('root ::= "a'))).toMatch('INVALID');
});

describe('matchers', () => {
  const texts = ['{', '}', '"', '":', 'na', 'me', 'name', '{"', 'a', '1', ' ', 'é', ''];
  const vocabulary = new Vocabulary(
    texts.map((text) => new TextEncoder().encode(text)),
    { endOfText: [12] },
  );
  const grammar = compileSchema(
    {
      type: 'object',
      properties: { name: { type: 'string', maxLength: 2 } },
      required: ['name'],
      additionalProperties: false,
    },
    { whiteSpace: 'none' },
  );
  const allowed = (matcher: ReturnType<typeof grammar.matcher>) => {
    const mask = new Int32Array(1);
    matcher.mask(mask);
    return texts.filter((_, i) => ((mask[0] as number) >>> i) & 1);
  };

  test('mask, accept, forced, rollback, clone', () => {
    const matcher = grammar.matcher(vocabulary);
    expect(allowed(matcher)).toEqual(['{', '{"']);
    expect(new TextDecoder().decode(matcher.forcedBytes())).toBe('{"name":"');
    expect(matcher.forced()).toEqual([7, 6, 3]); // the last quote may be part of a longer token
    for (const token of [7, 6, 3, 2]) matcher.accept(token);
    expect(allowed(matcher)).toEqual(['{', '}', '"', 'na', 'me', '{"', 'a', '1', ' ', 'é']);
    const copy = matcher.clone();
    matcher.accept(4);
    expect(allowed(matcher)).toEqual(['"']);
    expect(() => matcher.accept(4)).toThrow('token 4: not allowed');
    matcher.accept(2);
    matcher.accept(1);
    expect(matcher.isAccepting).toBe(true);
    matcher.accept(12);
    expect([allowed(matcher), matcher.isEnded]).toEqual([[''], true]);
    matcher.rollback(4);
    expect(allowed(matcher)).toEqual(allowed(copy));
    expect(() => matcher.rollback(99)).toThrow('cannot take back');
  });

  test('bytes that are no token', () => {
    const matcher = grammar.matcher(vocabulary);
    const accept = (text: string) => matcher.acceptBytes(new TextEncoder().encode(text));
    expect([accept('['), matcher.length]).toEqual([false, 0]);
    expect(() => matcher.acceptBytes('{"' as never)).toThrow('takes a Uint8Array');
    expect([accept('{"nam'), matcher.length]).toEqual([true, 1]);
    expect(new TextDecoder().decode(matcher.forcedBytes())).toBe('e":"');
    matcher.rollback(1);
    expect(allowed(matcher)).toEqual(['{', '{"']);
  });
});
