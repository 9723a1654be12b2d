import { AnswerParser, type CallFormat } from '../../../src/chat/answer/index.js';
import { part } from './read.js';

const tools = [{ name: 'f' }, { name: 'g' }];

/** Two calls of each family, and where the first one ends. */
const answers: Readonly<Record<CallFormat, readonly (readonly [first: string, second: string])[]>> = {
  hermes: [
    [
      '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
      '\n<tool_call>\n{"name": "g", "arguments": {}}',
    ],
    ['<tool_call>{"name": "f", "arguments": {}}', '\n{"name": "g", "arguments": {}}</tool_call>'],
  ],
  'llama3-json': [
    ['{"name": "f", "parameters": {}}', '; {"name": "g", "parameters": {}}'],
    ['[{"name": "f", "parameters": {}}', ', {"name": "g", "parameters": {}}]'],
    ['<|python_tag|>[{"name": "f", "parameters": {}}', ', {"name": "g", "parameters": {}}]'],
    ['<|python_tag|>{"name": "f", "parameters": {}}', '; {"name": "g", "parameters": {}}'],
  ],
  pythonic: [['[f()', ', g()]']],
  mistral: [
    ['[TOOL_CALLS] [{"name": "f", "arguments": {}}', ', {"name": "g", "arguments": {}}]'],
    ['[TOOL_CALLS]{"name": "f", "arguments": {}}', ', {"name": "g", "arguments": {}}'],
  ],
  'mistral-args': [['[TOOL_CALLS]f[ARGS]{}', '[TOOL_CALLS]g[ARGS]{}']],
  'qwen3-coder': [
    [
      '<tool_call>\n<function=f>\n</function>\n</tool_call>',
      '\n<tool_call>\n<function=g>\n</function>\n</tool_call>',
    ],
  ],
};
const cases = Object.entries(answers).flatMap(([format, all]) =>
  all.map(([first, second]) => [format as CallFormat, first, second] as const),
);

test.each(cases)(
  '%s: cut anywhere behind the first call, nothing of the second is text: %s',
  (calls, first, second) => {
    for (let length = 0; length <= second.length; length++) {
      const { text, calls: found } = part([first + second.slice(0, length)], { calls, tools });
      expect({ length, text }).toEqual({ length, text: '' });
      expect(found[0]).toEqual({ id: 'id0', name: 'f', arguments: '{}' });
      if (found.length > 1) expect(found[1]!.name).toBe('g');
    }
    expect(part([...first, ...second], { calls, tools }).calls.map(({ name }) => name)).toEqual(['f', 'g']);
  },
);

test('text behind calls stays text, also where it begins like a call', () => {
  const call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>';
  expect(part([...`${call}\nIs a <`], { calls: 'hermes', tools }).text).toBe('Is a <');
  const bare = '{"name": "f", "parameters": {}}';
  expect(part([...`${bare}; and so [1], [ [x] ]`], { calls: 'llama3-json', tools }).text).toBe(
    '; and so [1], [ [x] ]',
  );
  expect(part([...`See [1] and [{"a": 1}, ${bare}]`], { calls: 'llama3-json', tools }).text).toBe(
    'See [1] and [{"a": 1},]',
  );
  expect(part([...`[${bare}] Done [2].`], { calls: 'llama3-json', tools }).text).toBe('Done [2].');
});

const escapes = String.raw`"a\n\"\\\u00fc\ud83d\ude00\\u00"`;
test.each([
  ['hermes', `<tool_call>{"name": "f", "arguments": {"q": ${escapes}}}</tool_call>`],
  ['llama3-json', `{"name": "f", "parameters": {"q": ${escapes}}}`],
  ['mistral', `[TOOL_CALLS][{"name": "f", "arguments": {"q": ${escapes}}}]`],
  ['mistral-args', `[TOOL_CALLS]f[ARGS]{"q": ${escapes}}`],
  ['pythonic', `[f(q=${escapes})]`],
  ['qwen3-coder', `<function=f><parameter=q>"a\n${String.raw`\u00"`}</parameter></function>`],
] as const)('%s: no piece of arguments ends within an escape', (calls, answer) => {
  const parser = new AnswerParser({ calls, tools });
  let sofar = '';
  for (const c of answer)
    for (const event of parser.push(c)) {
      if (event.type !== 'arguments') continue;
      sofar += event.text;
      const [run = ''] = /\\*(?:u[\da-f]{0,3})?$/.exec(sofar) ?? [];
      const backslashes = run.replace(/u.*/, '').length;
      expect({ sofar, open: backslashes % 2 === 1 }).toEqual({ sofar, open: false });
    }
  expect(() => JSON.parse(sofar)).not.toThrow();
  const cut = part([`${answer.slice(0, answer.indexOf('\\') + 1)}`], { calls, tools });
  if (calls !== 'qwen3-coder') expect(cut.calls[0]!.arguments).toBe('{"q": "a');
});
