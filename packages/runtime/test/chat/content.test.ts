import { type ChatMessage, ChatTemplate } from '../../src/chat/index.js';
import { sharedText, testWithShared } from '../tokenizer/shared-data.js';

const error = (code: string, message: string) =>
  expect.objectContaining({ name: 'ChatTemplateError', code, message: expect.stringContaining(message) });

const parts = [
  { type: 'text', text: 'one' },
  { type: 'text', text: 'two' },
];
const image = { type: 'image', url: 'x.png' };
const user = (content: ChatMessage['content']): ChatMessage[] => [{ role: 'user', content: content ?? null }];

const strings = ChatTemplate.from('{% for m in messages %}{{ m.content + ";" }}{% endfor %}');
const printing = ChatTemplate.from('{% for m in messages %}{{ m.content }};{% endfor %}');
const vanishing = ChatTemplate.from(
  "{% for m in messages %}{% set content = m.content if m.content is string else '' %}{{ content }};{% endfor %}",
);
const listing = ChatTemplate.from(
  '{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == "text" %}{{ p.text }}{% elif p.type == "image" %}<image>{% endif %}{% endfor %}{% endif %};{% endfor %}',
);

describe('content parts', () => {
  test.each([
    ['concatenates', strings],
    ['prints', printing],
    ['drops values that are not strings', vanishing],
  ])('a template that %s gets one string, one line per part', (_, template) => {
    expect(template.render(user(parts))).toBe('one\ntwo;');
  });

  test('a template that loops over parts gets the parts', () => {
    expect(listing.render(user([...parts, image]))).toBe('onetwo<image>;');
  });

  test('parts that the template drops: the error names them', () => {
    expect(() => strings.render(user([...parts, image]))).toThrow(
      error('UNSUPPORTED_CONTENT', 'message 0 has a content part of type "image"'),
    );
    expect(() => listing.render(user([...parts, { type: 'audio' }]))).toThrow(
      error('UNSUPPORTED_CONTENT', '"audio"'),
    );
  });
});

describe('content: null with tool calls', () => {
  const call = { type: 'function', function: { name: 'weather', arguments: '{"city":"Linz"}' } };
  const messages: readonly ChatMessage[] = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', content: 'sun' },
  ];

  testWithShared('Qwen3: the template fails on null', () => {
    const template = ChatTemplate.from(sharedText('chat-templates/Qwen-Qwen3-0.6B.jinja'));
    const text = template.render(messages);
    expect(text).toContain(
      '<|im_start|>assistant\n<tool_call>\n{"name": "weather", "arguments": {"city": "Linz"}}\n</tool_call>',
    );
    expect(template.render([messages[0]!, { role: 'assistant', tool_calls: [call] }, messages[2]!])).toBe(
      text,
    );
  });

  test('a template’s test for none is true', () => {
    const source =
      '{% for m in messages %}{% if m.content is none %}call {{ m.tool_calls[0].function.name }}{% else %}{{ m.content }}{% endif %};{% endfor %}';
    expect(ChatTemplate.from(source).render(messages)).toBe('Weather?;call weather;sun;');
  });

  test('"None" is never written', () => {
    expect(printing.render([{ role: 'user', content: null }])).toBe(';');
    expect(printing.render(messages)).toBe('Weather?;;sun;');
  });
});

describe('input that a template ignores', () => {
  const noSystem = ChatTemplate.from(
    '{% for m in messages %}{% if m.role != "system" %}{{ m.content }};{% endif %}{% endfor %}',
  );
  const chat = [{ role: 'system', content: 'Be brief.' }, ...user('Hi')];
  const tools = [{ type: 'function', function: { name: 'weather' } }];

  test('a system message: an error', () => {
    expect(() => noSystem.render(chat)).toThrow(error('IGNORED', 'ignores system messages'));
    expect(noSystem.render(user('Hi'))).toBe('Hi;');
    expect(printing.render(chat)).toBe('Be brief.;Hi;');
  });

  test('tools: an error', () => {
    expect(() => printing.render(user('Hi'), { tools })).toThrow(error('IGNORED', 'ignores tools'));
    expect(printing.render(user('Hi'), { tools: [] })).toBe('Hi;');
    expect(ChatTemplate.from('{{ tools|tojson }}').render(user('Hi'), { tools })).toContain('weather');
  });

  test('tools, in a template that writes tools only after a system message: no error', () => {
    const source =
      '{% if messages[0].role == "system" %}{{ tools }}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}';
    expect(ChatTemplate.from(source).render(chat, { tools })).toContain('weather');
  });
});
