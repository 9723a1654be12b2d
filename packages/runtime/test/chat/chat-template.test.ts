import { ChatTemplate } from '../../src/chat/index.js';

const conversation = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: ' Hi ' },
  { role: 'assistant', content: 'Hello.' },
  { role: 'user', content: 'Bye' },
];
const tokens = { bosToken: '<s>', eosToken: '</s>' };

test('what a template says of tools and thoughts', () => {
  const of = (source: string) => {
    const { takesTools, thinking } = ChatTemplate.from(source);
    return [takesTools, thinking];
  };
  const text = '{{ messages[0].content }}';
  expect(of(text)).toEqual([false, 'never']);
  expect(of(`${text}{{ tools | tojson }}`)).toEqual([false, 'never']); // calls of an unknown form
  expect(of(`${text}{# <tool_call> #}`)).toEqual([false, 'never']);
  expect(of(`${text}{{ tools | tojson }}{# <tool_call> #}`)).toEqual([true, 'never']);
  expect(of(`${text}<think>`)).toEqual([false, 'always']);
  expect(of(`${text}{% if enable_thinking %}<think>{% endif %}`)).toEqual([false, 'optional']);
});

describe('builtin templates', () => {
  test('chatml', () => {
    expect(ChatTemplate.builtin('chatml').render(conversation)).toBe(
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n' +
        '<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  test('llama2', () => {
    expect(ChatTemplate.builtin('llama2', tokens).render(conversation)).toBe(
      '<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello. </s><s>[INST] Bye [/INST]',
    );
    expect(() => ChatTemplate.builtin('llama2', tokens).render(conversation.slice(2))).toThrow(
      'roles must alternate',
    );
  });

  test('llama3', () => {
    expect(
      ChatTemplate.builtin('llama3', tokens).render(conversation.slice(0, 2), { addGenerationPrompt: false }),
    ).toBe(
      '<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>',
    );
  });

  test('mistral: system message and tools come with the last question', () => {
    const template = ChatTemplate.builtin('mistral', tokens);
    expect(template.render(conversation)).toBe(
      '<s>[INST]  Hi [/INST] Hello.</s>[INST] Be brief.\n\nBye[/INST]',
    );
    const call = {
      id: 'abcdef123',
      type: 'function',
      function: { name: 'add', arguments: { a: 1 } },
    } as const;
    const tool = { type: 'function', function: { name: 'add', parameters: { type: 'object' } } } as const;
    const rendered = template.render(
      [
        { role: 'user', content: 'Add' },
        { role: 'assistant', content: '', tool_calls: [call, call] },
        { role: 'tool', content: '"2"', tool_call_id: 'abcdef123' },
      ],
      { tools: [tool] },
    );
    const written = '{"name": "add", "arguments": {"a": 1}, "id": "abcdef123"}';
    expect(rendered).toBe(
      `<s>[AVAILABLE_TOOLS] [${'{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}'}]` +
        `[/AVAILABLE_TOOLS][INST] Add[/INST][TOOL_CALLS] [${written}, ${written}]</s>` +
        '[TOOL_RESULTS] {"content": "\\"2\\"", "call_id": "abcdef123"}[/TOOL_RESULTS]',
    );
  });

  test('gemma: the system message starts the first user turn', () => {
    expect(ChatTemplate.builtin('gemma', { bosToken: '<bos>' }).render(conversation)).toBe(
      '<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHello.<end_of_turn>\n' +
        '<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n',
    );
    expect(() => ChatTemplate.builtin('gemma').render(conversation.slice(2))).toThrow('roles must alternate');
  });

  test('phi3; phi4-mini without line breaks', () => {
    const brief = conversation.slice(0, 2);
    expect(ChatTemplate.builtin('phi3').render(brief)).toBe(
      '<|system|>\nBe brief.<|end|>\n<|user|>\n Hi <|end|>\n<|assistant|>\n',
    );
    expect(ChatTemplate.builtin('phi4-mini').render(brief)).toBe(
      '<|system|>Be brief.<|end|><|user|> Hi <|end|><|assistant|>',
    );
  });

  test('an unknown name', () => {
    expect(() => ChatTemplate.builtin('vicuna' as 'chatml')).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_BUILTIN',
        message: expect.stringContaining('chatml, llama2, llama3'),
      }),
    );
  });
});

describe('the template language', () => {
  const render = (source: string, extra = {}) =>
    ChatTemplate.from(source, tokens).render([], { extra, now: new Date(2025, 7, 3, 14, 5, 9) });

  test.each([
    ['a block tag removes its line', 'a\n  {% if true %}\nb\n  {% endif %}\nc', 'a\nb\nc'],
    ['special tokens', '{{ bos_token }}|{{ eos_token }}', '<s>|</s>'],
    ['tools and documents are none', '{{ tools is none }} {{ documents is none }}', 'True True'],
    ['range', '{{ range(3) | join(",") }} {{ range(5, 0, -2) | join(",") }}', '0,1,2 5,3,1'],
    ['dates', "{{ strftime_now('%d %B %Y, %a %I:%M %p %% %Q') }}", '03 August 2025, Sun 02:05 PM % %Q'],
    [
      'strip with characters',
      "[{{ '\\n\\n x \\n'.strip('\\n') }}][{{ 'abcab'.rstrip('ba') }}]",
      '[ x ][abc]',
    ],
    ['strip in an argument', "{{ 'a-b'.split('-')[0].lstrip('a') ~ '-'.lstrip('x') }}", '-'],
    ['strip without', "[{{ ' x '.strip() }}{{ ' y '.lstrip() }}]", '[xy ]'],
    ['tojson', "{{ {'a': [1, none, 'é<']} | tojson }}", '{"a": [1, null, "é<"]}'],
  ])('%s', (_, source, text) => {
    expect(render(source)).toBe(text);
  });

  test('extra variables', () => {
    expect(render('{{ mood }}', { mood: 'good' })).toBe('good');
  });

  test('errors name the fault', () => {
    const error = (code: string, message: string) =>
      expect.objectContaining({ name: 'ChatTemplateError', code, message: expect.stringContaining(message) });
    expect(() => ChatTemplate.from('{% if %}')).toThrow(error('BAD_TEMPLATE', 'does not parse'));
    expect(() => render("{{ raise_exception('no system role') }}")).toThrow(
      error('REFUSED', 'no system role'),
    );
    expect(() => render('{{ nothing() }}')).toThrow(error('RENDER_FAILED', 'failed'));
  });
});

describe('calls in history', () => {
  const written = (template: ChatTemplate, args: unknown, answered = true) => {
    const call = { id: 'abcdef123', type: 'function', function: { name: 'f', arguments: args as object } };
    return template.render([
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: null, tool_calls: [call] },
      ...(answered ? [{ role: 'tool', content: 'done', tool_call_id: 'abcdef123' }] : []),
    ]);
  };
  const calling = ['chatml', 'llama3', 'mistral'] as const;
  const numbers =
    '{"id": 1234567890123456789, "a": [1e400, 1.0, -0, 0.12345678901234567890], "b": {"c": 1.50}}';

  test.each(calling)('%s: numbers keep their digits', (name) => {
    expect(written(ChatTemplate.builtin(name, tokens), numbers)).toContain(numbers);
  });

  test('also where a template prints them, and where a program gives an object', () => {
    const print = ChatTemplate.from(
      '{% for m in messages %}{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments|items %}{{ k }}={{ v }}={{ v|string }}={{ v|tojson }};{% endfor %}{% endfor %}{% endfor %}',
    );
    expect(written(print, '{"a": 12345678901234567890, "b": 1e400, "c": 2.0}', false)).toBe(
      'a=12345678901234567890=12345678901234567890=12345678901234567890;b=1e400=1e400=1e400;c=2.0=2.0=2.0;',
    );
    expect(written(print, { a: 12345678901234567890n, b: 2 ** 60, c: 0.5 }, false)).toBe(
      `a=12345678901234567890=12345678901234567890=12345678901234567890;b=${2 ** 60}=${2 ** 60}=${2 ** 60};c=0.5=0.5=0.5;`,
    );
  });

  test('numbers that keep their spelling are floats to a template', () => {
    const compute = ChatTemplate.from(
      "{% for c in messages[1].tool_calls %}{% set x = c.function.arguments.x %}{{ [x + 1, -x, x * 2, x > 1, x == 1.5, x is float, x is number, x|int, x|round, x|abs, '%.2f'|format(x), '{:.1f}'.format(x), [x, 0]|sum, {1.5: 'y'}[x]] }}{{ 'yes' if x else 'no' }}{% endfor %}",
    );
    expect(written(compute, '{"x": 1.50}', false)).toBe(
      "[2.5, -1.5, 3.0, True, True, True, True, 1, 2.0, 1.5, '1.50', '1.5', 1.5, 'y']yes",
    );
  });

  test.each(calling)('%s: no arguments are an empty object', (name) => {
    const template = ChatTemplate.builtin(name, tokens);
    for (const none of ['', ' \n', 'null', undefined, null])
      expect(written(template, none)).toBe(written(template, '{}'));
  });

  test.each(['{"a": "x', '[1]', '"x"', '{"a": 1} so'])('%s is refused, by the place', (args) => {
    expect(() => written(ChatTemplate.builtin('chatml'), args)).toThrow(
      expect.objectContaining({
        code: 'BAD_ARGUMENT',
        message: `messages[1].tool_calls[0].function.arguments must be a JSON object; got ${args}: repair the arguments, or leave the call and its result out`,
      }),
    );
  });

  test('an empty list of calls is no call', () => {
    const asks = ChatTemplate.from(
      "{% for m in messages %}{{ m.content }}{{ ' calls' if m.tool_calls is defined or 'tool_calls' in m }};{% endfor %}",
    );
    const messages = (more: object) => [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', ...more },
    ];
    for (const none of [[], null, undefined])
      expect(asks.render(messages({ tool_calls: none }))).toBe('a;b;');
    expect(asks.render([{ role: 'assistant', content: null, tool_calls: [] }])).toBe(';');
    expect(() => asks.render(messages({ tool_calls: 'x' }))).toThrow('messages[1].tool_calls must be a list');
  });

  test('tools show the digits of their schemas', () => {
    const parameters = {
      type: 'object',
      properties: { id: { type: 'integer', maximum: 9223372036854775807n } },
    };
    const rendered = ChatTemplate.builtin('chatml').render([{ role: 'user', content: 'Go' }], {
      tools: [{ type: 'function', function: { name: 'f', parameters } }],
    });
    expect(rendered).toContain('"maximum": 9223372036854775807}');
  });
});
