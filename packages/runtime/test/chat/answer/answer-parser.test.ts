import fc from 'fast-check';
import { codePoint } from '../../../../../test-strings.js';
import type { CallFormat } from '../../../src/chat/answer/index.js';
import { type Cuts, cut, type Parted, part } from './read.js';

interface Call {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

const python = (value: unknown): string => {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${python(each)}`)
    .join(', ')}}`;
};
const keywords = ({ name, args }: Call): string =>
  `${name}(${Object.entries(args)
    .map(([key, value]) => `${key}=${python(value)}`)
    .join(', ')})`;
const object = ({ name, args }: Call, key: string): string =>
  JSON.stringify({ name, [key]: args }, undefined, name === 'f' ? 2 : 0);

/** How a model of each family writes calls. */
const write: Record<CallFormat, (calls: readonly Call[]) => string> = {
  hermes: (calls) =>
    calls.map((call) => `<tool_call>\n${object(call, 'arguments')}\n</tool_call>`).join('\n'),
  'llama3-json': (calls) => calls.map((call) => object(call, 'parameters')).join('; '),
  pythonic: (calls) => `[${calls.map(keywords).join(', ')}]`,
  mistral: (calls) => `[TOOL_CALLS] [${calls.map((call) => object(call, 'arguments')).join(', ')}]`,
  'mistral-args': (calls) =>
    calls.map(({ name, args }) => `[TOOL_CALLS]${name}[ARGS]${JSON.stringify(args)}`).join(''),
  'qwen3-coder': (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) => `<parameter=${key}>\n${JSON.stringify(value)}\n</parameter>\n`,
        );
        return `<tool_call>\n<function=${name}>\n${parameters.join('')}</function>\n</tool_call>`;
      })
      .join('\n'),
};

const formats = Object.keys(write) as CallFormat[];
const tools = [{ name: 'f' }, { name: 'get_weather' }, { name: 'a.b-c' }];

const texts = fc.oneof(
  fc.string({ unit: codePoint }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '{', '}', "'", '[', ']', ',', ':', '\n', '\u2028', '😀', 'ü'),
  }),
  fc.constantFrom('</tool_call', '[TOOL_CALLS]', '<think>', '<|python_tag|>', '[ARGS]'),
);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    texts,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (Object.is(x, -0) ? 0 : x)),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      texts.filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 3 },
    ),
  ),
})).value;
const call: fc.Arbitrary<Call> = fc.record({
  name: fc.constantFrom(...tools.map(({ name }) => name)),
  args: fc.dictionary(fc.constantFrom('city', 'q', '_x1'), values, { maxKeys: 3 }),
});
const shares = fc.oneof(
  fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
  fc.constant('every character' as const),
);

const meaning = ({ text, thinking, calls }: Parted) => ({
  text,
  thinking,
  calls: calls.map(({ name, arguments: json }) => ({ name, args: JSON.parse(json) })),
});

describe.each(formats)('%s', (format) => {
  const read = (answer: string, cuts: Cuts) =>
    part(cut(answer, cuts), { calls: format, thinking: 'parted', tools });

  test('calls, the text around them and thoughts, in chunks of any cut', () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 3 }), shares, (calls, cuts) => {
        const answer = `<think>\nhm {"a\n</think>\n\nWait, [a] {b} …\n${write[format](calls)}\nSo.\n`;
        expect(meaning(read(answer, cuts))).toEqual({
          text: 'Wait, [a] {b} …So.\n',
          thinking: 'hm {"a',
          calls: calls.map(({ name, args }) => ({ name, args: { ...args } })),
        });
      }),
      { numRuns: 150 },
    );
  });

  test('pieces of calls, in any order and cut anywhere, give the same as in one chunk', () => {
    const pieces = fc.constantFrom(
      ...['<think>', '</think>', '<tool_call>', '</tool_call>', '[TOOL_CALLS]', '[ARGS]', '<|python_tag|>'],
      ...[
        '{"name": "f", ',
        '"parameters": ',
        '"arguments": {',
        '"q": 1',
        '}',
        '{',
        '[',
        ']',
        'f(',
        'q=',
        "'x'",
        ')',
      ],
      ...[
        '<function=f>',
        '<parameter=q>',
        '</parameter>',
        '</function>',
        'true',
        ' ',
        '\n',
        ',',
        ';',
        '"',
        '\\',
        'x',
      ],
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 14 }), shares, (parts, cuts) => {
        const answer = parts.join('');
        expect(read(answer, cuts)).toEqual(read(answer, []));
      }),
      { numRuns: 400 },
    );
  });

  test('text without calls stays as it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(texts, fc.constantFrom(' ', '\n', '{"name": "other"', '[x(y)]'))),
        shares,
        (parts, cuts) => {
          const answer = `Well${parts.join('').replace(/\[TOOL_CALLS\]|<\|python_tag\|>/g, '')}`;
          expect(read(answer, cuts)).toEqual({ text: answer, thinking: '', calls: [] });
        },
      ),
    );
  });

  test('arguments of 100 kB in single characters take time in proportion', () => {
    const args = { q: '{"a": \\"ü😀\n'.repeat(9000) };
    const answer = write[format]([{ name: 'f', args }]);
    const start = process.cpuUsage();
    const { calls } = part([...answer], { calls: format, tools });
    expect(JSON.parse(calls[0]!.arguments)).toEqual(args);
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(1500);
  });
});
