import type { LanguageModelV3Prompt, LanguageModelV3ToolResultPart } from '@ai-sdk/provider';
import { chatMessages } from '../src/messages.js';

const call = { type: 'tool-call' as const, toolCallId: 'c1', toolName: 'weather', input: { city: 'Linz' } };
const resultOf = (output: LanguageModelV3ToolResultPart['output']) => ({
  type: 'tool-result' as const,
  toolCallId: 'c1',
  toolName: 'weather',
  output,
});

test('thoughts, texts and calls of an answer, and the result of a tool', () => {
  const prompt: LanguageModelV3Prompt = [
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Sun?' },
        { type: 'text', text: 'Let me ' },
        { type: 'text', text: 'see.' },
        call,
      ],
    },
    { role: 'tool', content: [resultOf({ type: 'json', value: { sunny: true } })] },
  ];
  expect(chatMessages(prompt)).toEqual([
    {
      role: 'assistant',
      content: 'Let me see.',
      reasoning_content: 'Sun?',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Linz"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', name: 'weather', content: '{"sunny":true}' },
  ]);
});

test('the input of a failed call is no object: templates get an empty one', () => {
  for (const input of ['{"a": "x', undefined, [1]]) {
    const prompt = [{ role: 'assistant' as const, content: [{ ...call, input }] }];
    expect(chatMessages(prompt)).toMatchObject([{ tool_calls: [{ function: { arguments: '{}' } }] }]);
  }
});

test.each<[LanguageModelV3ToolResultPart['output'], string]>([
  [{ type: 'text', value: 'rain' }, 'rain'],
  [{ type: 'error-text', value: 'no such city' }, 'no such city'],
  [{ type: 'error-json', value: [1] }, '[1]'],
  [{ type: 'execution-denied', reason: 'not now' }, 'not now'],
  [{ type: 'execution-denied' }, 'The call was denied.'],
  [
    {
      type: 'content',
      value: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    'a\nb',
  ],
])('the result %j of a tool', (output, content) => {
  expect(chatMessages([{ role: 'tool', content: [resultOf(output)] }])).toMatchObject([{ content }]);
});

test('parts that are not text are refused by name', () => {
  const image = { type: 'image-url' as const, url: 'https://example.com/a.png' };
  expect(() =>
    chatMessages([{ role: 'tool', content: [resultOf({ type: 'content', value: [image] })] }]),
  ).toThrow("a part of the type image-url in a tool's result is not supported");
  const file = { type: 'file' as const, mediaType: 'image/png', data: '' };
  expect(() => chatMessages([{ role: 'assistant', content: [file] }])).toThrow('in an assistant message');
});
