import type { InferSchema } from '../src/index.js';

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    kind: { enum: ['a', 'b'] },
    sizes: { type: 'array', items: { type: ['integer', 'null'] } },
    note: { anyOf: [{ type: 'string' }, { const: 5 }] },
  },
  required: ['name', 'kind', 'sizes'],
} as const;

test('types of schema literals', () => {
  const value: InferSchema<typeof schema> = { name: 'x', kind: 'b', sizes: [1, null], note: 5 };
  const short: InferSchema<typeof schema> = { name: 'x', kind: 'a', sizes: [] };
  // @ts-expect-error a value outside the enum
  const kind: InferSchema<typeof schema>['kind'] = 'c';
  // @ts-expect-error a required key is missing
  const missing: InferSchema<typeof schema> = { kind: 'a', sizes: [] };
  expect([value.note, short.note, kind, missing.kind]).toEqual([5, undefined, 'c', 'a']);
});
