import { callFormatOf } from '../../../src/chat/answer/index.js';
import { ChatTemplate } from '../../../src/chat/index.js';
import { sharedText, testWithShared } from '../../tokenizer/shared-data.js';
import { part } from './read.js';

const args = { city: 'Linz "an der" Donau\n{', days: [1, 2], exact: true, none: null };
const callOf = (name: string) => ({
  id: 'abcdefghi',
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});
const tools = ['weather', 'time'].map((name) => ({ type: 'function', function: { name } }));
const question = { role: 'user', content: 'Weather?' };
const result = { role: 'tool', tool_call_id: 'abcdefghi', name: 'weather', content: 'sunny' };

/** What the template writes for an assistant's message is read back as its calls. */
function readBack(template: ChatTemplate, calls: readonly object[], end: string): unknown {
  const before = template.render([question], { tools });
  const message = { role: 'assistant', content: '', tool_calls: calls };
  const whole = template.render([question, message, result], { tools });
  expect(whole.startsWith(before)).toBe(true);
  const answer = whole.slice(before.length, whole.indexOf(end, before.length));
  const parted = part([...answer], {
    calls: callFormatOf(template.source),
    thinking: 'parted',
    tools: tools.map((tool) => tool.function),
  });
  expect(parted.text + parted.thinking).toBe('');
  return parted.calls.map(({ name, arguments: json }) => ({ name, args: JSON.parse(json) }));
}

const one = [{ name: 'weather', args }];
const two = [...one, { name: 'time', args }];

test('builtin chatml and llama3', () => {
  const chatml = ChatTemplate.builtin('chatml');
  expect(readBack(chatml, [callOf('weather'), callOf('time')], '<|im_end|>')).toEqual(two);
  expect(readBack(ChatTemplate.builtin('llama3'), [callOf('weather'), callOf('time')], '<|eot_id|>')).toEqual(
    two,
  );
});

testWithShared('templates of models', () => {
  const template = (name: string) =>
    ChatTemplate.from(sharedText(`chat-templates/${name}.jinja`), { bosToken: '<|begin_of_text|>' });
  expect(
    readBack(template('Qwen-Qwen2.5-7B-Instruct'), [callOf('weather'), callOf('time')], '<|im_end|>'),
  ).toEqual(two);
  expect(readBack(template('Qwen-Qwen3-0.6B'), [callOf('weather'), callOf('time')], '<|im_end|>')).toEqual(
    two,
  );
  expect(readBack(template('meta-llama-Llama-3.1-8B-Instruct'), [callOf('weather')], '<|eot_id|>')).toEqual(
    one,
  );
});

test('builtin templates name the tools beside the system message, and write results', () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    question,
    { role: 'assistant', content: null, tool_calls: [callOf('weather')] },
    result,
    { ...result, content: { sun: 1 } as never },
  ];
  const chatml = ChatTemplate.builtin('chatml').render(messages, { tools });
  expect(chatml).toContain(
    '<|im_start|>system\nBe brief.\n\nYou may call these functions:\n<tools>\n{"type": "function"',
  );
  expect(chatml).toContain(
    '</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nsunny\n</tool_response>\n<tool_response>\n{"sun": 1}\n</tool_response><|im_end|>\n<|im_start|>assistant\n',
  );
  const llama3 = ChatTemplate.builtin('llama3', { bosToken: '<s>' }).render(messages, { tools });
  expect(llama3).toContain(
    '<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.\n\nYou may call these functions.',
  );
  expect(llama3).toContain('<|start_header_id|>ipython<|end_header_id|>\n\nsunny<|eot_id|>');
});
