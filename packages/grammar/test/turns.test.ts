import { compileChoices, compileInTurns, compileRegex, compileSchema, type Structure } from '../src/index.js';
import { Strings } from '../src/schema/strings.js';
import { structureWork } from '../src/structure.js';

/** About 100 kB of JSON schema in 58 tools. */
const tools = Array.from({ length: 58 }, (_, i) => ({
  type: 'object',
  description: 'x'.repeat(400),
  properties: {
    id: { type: 'string', format: 'uuid' },
    when: { type: 'string', format: 'date-time' },
    url: { type: 'string', format: 'uri' },
    count: { type: 'integer', minimum: 0, maximum: 1000 + i },
    kind: { enum: Array.from({ length: 20 }, (_, k) => `kind_${i}_${k}`) },
    code: { type: 'string', pattern: `^[A-Z]{2}-\\d{4,8}-${i}$` },
    filter: {
      oneOf: ['eq', 'lt', 'gt'].map((op) => ({ properties: { op: { const: op } }, required: ['op'] })),
    },
    nested: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 6 }, (_, k) => [`p${k}`, { type: ['string', 'null'] }]),
      ),
    },
  },
  required: ['id', 'when', 'kind'],
  additionalProperties: false,
}));

const callsOf = (count: number): Structure => ({
  oneOf: tools
    .slice(0, count)
    .map((schema, i) => ({ sequence: [{ literal: `tool_${i}(` }, { schema }, { literal: ')' }] })),
});

test('58 tools are compiled in many small parts', () => {
  const strings = new Strings();
  const work = structureWork(callsOf(58), {}, strings);
  const parts: number[] = []; // new expressions of each
  for (let done = false, before = strings.regexes.size; !done; before = strings.regexes.size) {
    done = work.next().done === true;
    parts.push(strings.regexes.size - before);
  }
  const total = parts.reduce((sum, part) => sum + part, 0);
  expect(total).toBeGreaterThan(10_000);
  expect(Math.max(...parts)).toBeLessThan(600);
});

test('other work goes on meanwhile, and the grammar is the same', async () => {
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const grammar = await compileInTurns({ structure: callsOf(8) });
  clearInterval(counting);
  expect(turns).toBeGreaterThan(0);
  const text =
    'tool_5({"id":"123e4567-e89b-42d3-a456-426614174000","when":"2024-01-01T00:00:00Z","kind":"kind_5_3"})';
  expect(grammar.test(text)).toBe(true);
  expect(grammar.test(text.replace('kind_5_3', 'kind_6_3'))).toBe(false);
}, 60_000);

test.each([
  [{ schema: { enum: ['a'] } }, '"a"'],
  [{ regex: 'a+' }, 'aa'],
  [{ choices: ['a', 'b'] }, 'b'],
  [{ gbnf: 'root ::= "a" | "b"' }, 'b'],
  [{ structure: { literal: 'a' } }, 'a'],
])('%j in turns', async (source, text) => {
  expect((await compileInTurns(source)).test(text)).toBe(true);
});

describe('what is too large is refused with the numbers', () => {
  const many = Array.from({ length: 100_000 }, (_, i) => `v${i}`);

  test.each<[string, () => unknown, string]>([
    ['enum', () => compileSchema({ enum: many }), '100000 alternatives here; the bound is 2000'],
    ['regex', () => compileRegex('a'.repeat(1 << 20)), '1048576 characters; the bound is 32768'],
    [
      'pattern',
      () => compileSchema({ pattern: 'a'.repeat(1 << 20) }),
      '1048576 characters; the bound is 32768',
    ],
    ['choices', () => compileChoices(many), '100000 texts; the bound is 20000'],
  ])('%s', (_, compile, message) => {
    expect(compile).toThrow(message);
  });

  test('compileInTurns rejects alike', async () => {
    await expect(compileInTurns({ schema: { enum: many } })).rejects.toThrow('the bound is 2000');
    await expect(compileInTurns({ gbnf: `root ::= "${'a'.repeat(300_000)}"` })).rejects.toThrow('262144');
  });
});

test('long sequences do not exhaust the stack', () => {
  const long = 'ab'.repeat(7_500);
  expect(compileRegex(`(?:${long})x`).test(`${long}x`)).toBe(true);
  expect(compileSchema({ const: long }).test(JSON.stringify(long))).toBe(true);
});

test('properties of characters are those of the engine', () => {
  for (const name of ['L', 'Nd', 'Emoji_Presentation']) {
    const grammar = compileRegex(`\\p{${name}}`);
    const engine = new RegExp(`^\\p{${name}}$`, 'u');
    for (let point = 0; point < 0x20000; point += 211) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const char = String.fromCodePoint(point);
      expect([point, grammar.test(char)]).toEqual([point, engine.test(char)]);
    }
  }
  expect(() => compileRegex('\\p{Nonsense}')).toThrow('unknown property');
});
