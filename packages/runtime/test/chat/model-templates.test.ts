import { ChatTemplate } from '../../src/chat/index.js';
import { sharedText, testWithShared } from '../tokenizer/shared-data.js';

const template = (name: string) =>
  ChatTemplate.from(sharedText(`chat-templates/${name}.jinja`), {
    bosToken: '<|begin_of_text|>',
    eosToken: '<|eot_id|>',
  });

const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: "The weather – today's",
    parameters: { type: 'object', properties: {} },
  },
};

const weatherJson =
  '{"type": "function", "function": {"name": "weather", "description": "The weather – today\'s", "parameters": {"type": "object", "properties": {}}}}';

const call = { type: 'function', function: { name: 'weather', arguments: '{"city":"Linz","days":2}' } };

const qwenTools = `# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
${weatherJson}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
`;

describe('Qwen3', () => {
  const render: ChatTemplate['render'] = (...args) => template('Qwen-Qwen3-0.6B').render(...args);

  testWithShared('a question', () => {
    expect(
      render([
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi!' },
      ]),
    ).toBe(
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  testWithShared('without a generation prompt, and without thinking', () => {
    const messages = [{ role: 'user', content: 'Hi!' }];
    const start = '<|im_start|>user\nHi!<|im_end|>\n';
    expect(render(messages, { addGenerationPrompt: false })).toBe(start);
    expect(render(messages, { extra: { enable_thinking: true } })).toBe(`${start}<|im_start|>assistant\n`);
    expect(render(messages, { extra: { enable_thinking: false } })).toBe(
      `${start}<|im_start|>assistant\n<think>\n\n</think>\n\n`,
    );
  });

  testWithShared('thoughts of earlier turns are dropped, the answer’s indentation is kept', () => {
    expect(
      render([
        { role: 'user', content: 'Code?' },
        { role: 'assistant', content: '<think>\nhm\n</think>\n\n  return 1' },
        { role: 'user', content: 'More?' },
      ]),
    ).toBe(
      '<|im_start|>user\nCode?<|im_end|>\n<|im_start|>assistant\n  return 1<|im_end|>\n' +
        '<|im_start|>user\nMore?<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  testWithShared('a tool call and its answers', () => {
    expect(
      render(
        [
          { role: 'user', content: 'Weather?' },
          { role: 'assistant', content: '', tool_calls: [call] },
          { role: 'tool', content: 'sun' },
          { role: 'tool', content: 'rain' },
        ],
        { tools: [weather] },
      ),
    ).toBe(
      `<|im_start|>system\n${qwenTools}<|im_start|>user\nWeather?<|im_end|>\n` +
        '<|im_start|>assistant\n<tool_call>\n{"name": "weather", "arguments": {"city": "Linz", "days": 2}}\n</tool_call><|im_end|>\n' +
        '<|im_start|>user\n<tool_response>\nsun\n</tool_response>\n<tool_response>\nrain\n</tool_response><|im_end|>\n' +
        '<|im_start|>assistant\n',
    );
  });
});

describe('Qwen2.5', () => {
  const render: ChatTemplate['render'] = (...args) => template('Qwen-Qwen2.5-7B-Instruct').render(...args);

  testWithShared('has a default system message', () => {
    expect(
      render([
        { role: 'user', content: '1+1?' },
        { role: 'assistant', content: '2' },
        { role: 'user', content: '  {{ 1 }} ' },
      ]),
    ).toBe(
      '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' +
        '<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n2<|im_end|>\n' +
        '<|im_start|>user\n  {{ 1 }} <|im_end|>\n<|im_start|>assistant\n',
    );
  });

  testWithShared('with tools', () => {
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Hi' },
    ];
    expect(render(messages, { tools: [weather] })).toBe(
      `<|im_start|>system\nBe kind.\n\n${qwenTools}<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n`,
    );
  });
});

describe('Llama 3.1', () => {
  const render: ChatTemplate['render'] = (...args) =>
    template('meta-llama-Llama-3.1-8B-Instruct').render(...args);
  const header = (role: string) => `<|start_header_id|>${role}<|end_header_id|>\n\n`;
  const dates = 'Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n';

  testWithShared('a conversation', () => {
    expect(
      render([
        { role: 'system', content: ' Be brief. ' },
        { role: 'user', content: '\nHi\n' },
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: 'Bye' },
      ]),
    ).toBe(
      `<|begin_of_text|>${header('system')}${dates}Be brief.<|eot_id|>${header('user')}Hi<|eot_id|>` +
        `${header('assistant')}Hello.<|eot_id|>${header('user')}Bye<|eot_id|>${header('assistant')}`,
    );
  });

  testWithShared('tools go into the first user message, arguments are objects', () => {
    const tool = { name: 'weather', days: [1, 2] };
    expect(
      render(
        [
          { role: 'user', content: 'Weather?' },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', content: { sun: true } as never },
        ],
        { tools: [tool], extra: { date_string: '1 Jan 2025' } },
      ),
    ).toBe(
      `<|begin_of_text|>${header('system')}Environment: ipython\nCutting Knowledge Date: December 2023\nToday Date: 1 Jan 2025\n\n<|eot_id|>` +
        `${header('user')}Given the following functions, please respond with a JSON for a function call with its proper arguments that best answers the given prompt.\n\n` +
        'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.Do not use variables.\n\n' +
        '{\n    "name": "weather",\n    "days": [\n        1,\n        2\n    ]\n}\n\nWeather?<|eot_id|>' +
        `${header('assistant')}{"name": "weather", "parameters": {"city": "Linz", "days": 2}}<|eot_id|>` +
        `${header('ipython')}{"sun": true}<|eot_id|>${header('assistant')}`,
    );
  });

  testWithShared('refuses two tool calls at once', () => {
    const refused = () => render([{ role: 'assistant', content: '', tool_calls: [call, call] }]);
    expect(refused).toThrow(expect.objectContaining({ name: 'ChatTemplateError', code: 'REFUSED' }));
    expect(refused).toThrow('only supports single tool-calls at once');
  });
});
