// The text of a call of a custom tool, while its arguments come.
import { CustomInput, customInput } from '../src/chat/custom-input.js';

const texts = [
  '',
  'plain',
  'a "quote", a \\ and a /',
  '*** Begin\n\t*** End\r\n',
  'é 😀 \u0001',
  '\ud83d alone',
];

/** The same with all of its characters as escapes. */
const escaped = (text: string): string =>
  Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

const forms = texts.flatMap((text) => [
  [text, JSON.stringify({ input: text })],
  [text, ` { "input" :\n"${escaped(text)}" } `],
]);

test.each(forms)('%j, a character at a time, or in two parts', (text, args) => {
  expect(customInput(args!)).toBe(text);
  const one = new CustomInput();
  const parts = Array.from(args!, (each) => one.add(each));
  expect([parts.join(''), one.text]).toEqual([text, text]);
  for (let at = 0; at <= args!.length; at++) {
    const two = new CustomInput();
    expect(two.add(args!.slice(0, at)) + two.add(args!.slice(at))).toBe(text);
  }
});

test('characters come as soon as they are whole, and pairs as one', () => {
  const input = new CustomInput();
  const parts = ['{"input": "a', '\\', 'n\\ud8', '3d', '\\ude', '00b', '"}'];
  expect(parts.map((each) => input.add(each))).toEqual(['a', '', '\n', '', '', '😀b', '']);
});

test.each([
  ['{"input": "*** Beg', '*** Beg'],
  ['{"input": "a\\', 'a'],
  ['{"inp', '{"inp'],
  ['{"input": 5}', '{"input": 5}'],
  ['{"other": 1, "input": "a"}', 'a'],
])('%s: %s', (args, text) => {
  expect(customInput(args)).toBe(text);
});
