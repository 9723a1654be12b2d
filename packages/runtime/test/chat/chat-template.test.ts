import { ChatTemplate } from '../../src/chat/index.js';

const conversation = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: ' Hi ' },
  { role: 'assistant', content: 'Hello.' },
  { role: 'user', content: 'Bye' },
];
const tokens = { bosToken: '<s>', eosToken: '</s>' };

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
