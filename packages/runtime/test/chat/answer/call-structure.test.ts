import type { Structure } from '@quern/grammar';
import fc from 'fast-check';
import { callStructure, upTo } from '../../../src/chat/answer/call-structure.js';
import { callFormats } from '../../../src/chat/answer/index.js';
import { part } from './read.js';

const tools = [
  {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' }, hot: { type: 'boolean' } },
      required: ['days'],
    },
  },
  {
    name: 'search',
    parameters: { type: 'object', properties: { q: { type: 'string' }, n: { type: 'integer' } } },
  },
  { name: 'now' },
];

const strings = fc.string({
  unit: fc.constantFrom('a', '"', '\\', '{', '}', "'", ']', '\n', '<', '/', 'ü', '😀'),
});

/** JSON that fits one of the schemas of the tools. */
const jsonOf = (schema: {
  type?: string;
  properties?: object;
  required?: string[];
}): fc.Arbitrary<string> => {
  if (schema.type === 'string') return strings.map((text) => JSON.stringify(text));
  if (schema.type === 'integer') return fc.integer().map(String);
  if (schema.type === 'boolean') return fc.boolean().map(String);
  const { properties = {}, required = [] } = schema;
  const values = Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, jsonOf(each)]));
  return fc
    .record(values, { requiredKeys: required })
    .map(
      (written: Record<string, string>) =>
        `{${Object.entries(written).map(([name, json]) => `${JSON.stringify(name)}: ${json}`)}}`,
    );
};

/** Any text of a structure. */
function textOf(structure: Structure): fc.Arbitrary<string> {
  if ('literal' in structure) return fc.constant(structure.literal);
  if ('schema' in structure) return jsonOf(structure.schema as object);
  if ('sequence' in structure)
    return fc.tuple(...structure.sequence.map(textOf)).map((texts) => texts.join(''));
  if ('oneOf' in structure) return fc.oneof(...structure.oneOf.map(textOf));
  if ('repeat' in structure)
    return fc
      .array(textOf(structure.repeat), { minLength: structure.least, maxLength: structure.most ?? 2 })
      .map((texts) => texts.join(''));
  if ('text' in structure)
    return strings.filter((text) => !structure.without.some((mark) => text.includes(mark)));
  const { regex } = structure;
  const mark = regex === (upTo('</think>') as { regex: string }).regex ? '</think>' : undefined;
  if (mark)
    return strings.map((text) => text + mark).filter((text) => new RegExp(`^(?:${regex})$`, 'u').test(text));
  return fc.constantFrom(...(regex === '\\s*' ? ['', '\n\n'] : ['[TOOL_CALLS][', '[TOOL_CALLS] [']));
}

const allowed: Record<string, readonly string[]> = {
  weather: ['days', 'city', 'hot'],
  search: ['q', 'n'],
  now: [],
};

describe.each(callFormats)('%s', (format) => {
  test('every text of the structure is read as calls that fit their tools', () => {
    const structure = callStructure(format, tools, { choice: 'required', thinking: 'parted' });
    fc.assert(
      fc.property(textOf(structure), (text) => {
        const { text: rest, calls } = part([text], { calls: format, tools, thinking: 'parted' });
        expect(rest).toBe('');
        expect(calls.length).toBeGreaterThan(0);
        for (const { name, arguments: json } of calls) {
          const args: Record<string, unknown> = JSON.parse(json);
          for (const key of Object.keys(args)) expect(allowed[name]).toContain(key);
          if (name === 'weather') expect(Number.isInteger(args.days)).toBe(true);
          if ('city' in args) expect(typeof args.city).toBe('string');
          if ('hot' in args) expect(typeof args.hot).toBe('boolean');
        }
      }),
      { numRuns: 100 },
    );
  });

  test('one call: of a named tool, or not in parallel', () => {
    const one = (options: Parameters<typeof callStructure>[2]) =>
      fc.sample(textOf(callStructure(format, tools, options)), 20).map((text) =>
        part([text], { calls: format, tools })
          .calls.map(({ name }) => name)
          .join(),
      );
    expect(new Set(one({ choice: { name: 'search' } }))).toEqual(new Set(['search']));
    for (const names of one({ choice: 'required', parallel: false }))
      expect(Object.keys(allowed)).toContain(names);
  });
});

test('upTo: any text up to the first mark', () => {
  const { regex } = upTo('</think>') as { regex: string };
  const pattern = new RegExp(`^(?:${regex})$`);
  const pieces = fc.array(fc.constantFrom('<', '/', '</', '</think', 'think', 't', '>', '\n', '</think>'));
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join('').slice(0, 60);
      expect(pattern.test(text)).toBe(text.indexOf('</think>') === text.length - 8 && text.length >= 8);
    }),
    { numRuns: 500 },
  );
});
