import { compileSchema, compileStructure } from '../src/index.js';

const integer = { type: 'integer' };
const closed = { type: 'object', additionalProperties: false };

/** [schema, texts that come, texts that do not, though their values fit] */
const cases: [string, object, string[], string[]][] = [
  [
    'keys come in the order of properties, whatever required says',
    { ...closed, properties: { z: integer, a: integer }, required: ['a', 'z'] },
    ['{"z":1,"a":2}'],
    ['{"a":2,"z":1}'],
  ],
  [
    'optional keys come in their place, or not at all',
    { ...closed, properties: { c: integer, b: integer, a: integer }, required: ['b'] },
    ['{"b":1}', '{"c":1,"b":1}', '{"b":1,"a":1}', '{"c":1,"b":1,"a":1}'],
    ['{"b":1,"c":1}', '{"a":1,"b":1}'],
  ],
  [
    'keys of required alone come behind those of properties, in the order of required',
    { properties: { b: integer }, required: ['z', 'y', 'b'], additionalProperties: integer },
    ['{"b":1,"z":1,"y":1}'],
    ['{"z":1,"b":1,"y":1}', '{"b":1,"y":1,"z":1}'],
  ],
  [
    'keys of patterns and further keys come last, in any order',
    { properties: { b: integer }, patternProperties: { '^x': integer }, additionalProperties: integer },
    ['{"b":1,"x1":1,"c":1}', '{"b":1,"c":1,"x1":1}', '{"c":1}', '{}'],
    ['{"c":1,"b":1}', '{"x1":1,"b":1}'],
  ],
  [
    'own properties come before those of $ref and allOf',
    {
      $defs: { base: { properties: { id: integer } } },
      allOf: [{ properties: { m: integer } }, { properties: { k: integer } }],
      $ref: '#/$defs/base',
      properties: { own: integer },
    },
    ['{"own":1,"id":1,"m":1,"k":1}'],
    ['{"id":1,"own":1}', '{"own":1,"m":1,"id":1}', '{"k":1,"m":1}'],
  ],
  [
    'keys that depend on others',
    {
      ...closed,
      properties: { a: integer, b: integer, c: integer },
      dependentRequired: { c: ['a'], a: ['b'] },
    },
    ['{}', '{"b":1}', '{"a":1,"b":1}', '{"a":1,"b":1,"c":1}'],
    ['{"b":1,"a":1}', '{"c":1,"a":1,"b":1}'],
  ],
  [
    'alternatives, each in its order',
    { anyOf: [{ properties: { a: integer, b: integer } }, { properties: { d: integer, c: integer } }] },
    ['{"a":1,"b":1}', '{"d":1,"c":1}'],
    [],
  ],
  ['the keys of an object in enum', { enum: [{ b: 1, a: 2 }] }, ['{"b":1,"a":2}'], ['{"a":2,"b":1}']],
];

test.each(cases)('%s', (_, schema, comes, other) => {
  const ordered = compileSchema(schema);
  const free = compileSchema(schema, { keyOrder: 'any' });
  for (const text of comes) expect([text, ordered.test(text), free.test(text)]).toEqual([text, true, true]);
  for (const text of other) expect([text, ordered.test(text), free.test(text)]).toEqual([text, false, true]);
});

test('counts of keys hold in order', () => {
  const properties = { a: integer, b: integer, c: integer };
  const grammar = compileSchema({ ...closed, properties, minProperties: 1, maxProperties: 2 });
  const counted = compileSchema({ properties, required: ['b'], minProperties: 2, maxProperties: 2 });
  const texts = [
    '{}',
    '{"a":1}',
    '{"b":1}',
    '{"a":1,"b":1}',
    '{"a":1,"c":1}',
    '{"a":1,"b":1,"c":1}',
    '{"b":1,"d":1}',
  ];
  expect(texts.filter((text) => grammar.test(text))).toEqual(texts.slice(1, 5));
  expect(texts.filter((text) => counted.test(text))).toEqual(['{"a":1,"b":1}', '{"b":1,"d":1}']);
});

test('structures take the option for all their schemas', () => {
  const schema = { ...closed, properties: { b: integer, a: integer } };
  const structure = { sequence: [{ literal: 'x' }, { schema }] };
  const text = 'x{"a":1,"b":1}';
  expect(compileStructure(structure).test(text)).toBe(false);
  expect(compileStructure(structure, { keyOrder: 'any' }).test(text)).toBe(true);
});

test('200 optional keys: states grow with the keys, not with their sets', () => {
  const names = Array.from({ length: 200 }, (_, i) => `k${i}`);
  const properties = Object.fromEntries(names.map((name) => [name, integer]));
  const grammar = compileSchema({ ...closed, properties });
  expect(grammar.test(`{${names.map((name) => `"${name}":1`).join()}}`)).toBe(true);
  expect(grammar.test('{"k0":1,"k199":1}')).toBe(true);
  expect(grammar.test('{"k199":1,"k0":1}')).toBe(false);
});
