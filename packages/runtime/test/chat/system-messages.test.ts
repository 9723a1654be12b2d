import { ChatTemplate } from '../../src/chat/chat-template.js';

const lines = (body: string) => `{% for m in messages %}${body}{{ m.role }}: {{ m.content }}\n{% endfor %}`;

/** As Qwen's and others: any role, anywhere. */
const anywhere = lines('');
/** As Qwen 3.5: a system message that is not first is refused. */
const firstOnly = lines(
  "{% if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif %}",
);
/** As older ones: only the first system message is written. */
const firstWritten = `{% if messages[0].role == 'system' %}S: {{ messages[0].content }}\n{% endif %}{% for m in messages if m.role != 'system' %}{{ m.role }}: {{ m.content }}\n{% endfor %}`;

const message = (role: string, content: string) => ({ role, content });
const rendered = (source: string, roles: readonly string[]) => {
  const notices: string[] = [];
  const messages = roles.map((role, i) => message(role, `${role[0]}${i}`));
  const text = ChatTemplate.from(source).render(messages, { onNotice: (each) => notices.push(each) });
  return { text, notices: notices.length };
};

const late = ['system', 'user', 'assistant', 'system', 'user'];
const two = ['system', 'system', 'user'];
const onlyLate = ['user', 'system', 'user'];

test.each([
  ['anywhere', anywhere, late, 'system: s0\nuser: u1\nassistant: a2\nsystem: s3\nuser: u4\n', 0],
  ['anywhere, two', anywhere, two, 'system: s0\nsystem: s1\nuser: u2\n', 0],
  ['first only', firstOnly, late, 'system: s0\n\ns3\nuser: u1\nassistant: a2\nuser: u4\n', 1],
  ['first only, two', firstOnly, two, 'system: s0\n\ns1\nuser: u2\n', 1],
  ['first only, late alone', firstOnly, onlyLate, 'system: s1\nuser: u0\nuser: u2\n', 1],
  ['first only, first', firstOnly, ['system', 'user'], 'system: s0\nuser: u1\n', 0],
  ['first written', firstWritten, late, 'S: s0\n\ns3\nuser: u1\nassistant: a2\nuser: u4\n', 1],
  ['first written, two', firstWritten, two, 'S: s0\n\ns1\nuser: u2\n', 1],
])('%s', (_, source, roles, text, notices) => {
  expect(rendered(source, roles)).toEqual({ text, notices });
});

test('parts become text', () => {
  const messages = [
    message('user', 'hi'),
    {
      role: 'system',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    message('user', 'ho'),
  ];
  const text = ChatTemplate.from(firstOnly).render(messages, { onNotice: () => {} });
  expect(text).toBe('system: a\nb\nuser: hi\nuser: ho\n');
});

test('without a listener: one warning per template', () => {
  const warnings = import.meta.jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const template = ChatTemplate.from(firstOnly);
  for (let i = 0; i < 3; i++)
    template.render([message('user', 'a'), message('system', 'b'), message('user', 'c')]);
  const given = warnings.mock.calls.map(([text]) => String(text));
  warnings.mockRestore();
  expect(given).toEqual([expect.stringContaining('takes one system message')]);
});

describe('an error of the template names the message', () => {
  const alternating = lines(
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}",
  );
  const failing = lines('{{ m.content + m.missing.field }}');

  test.each([
    ['refused', alternating, ['user', 'assistant', 'assistant', 'user'], 'REFUSED', 2],
    ['the last', alternating, ['user', 'assistant', 'user', 'user'], 'REFUSED', 3],
    ['the first', alternating, ['assistant', 'user'], 'REFUSED', 0],
    ['failed', failing, ['user', 'assistant'], 'RENDER_FAILED', 0],
  ])('%s', (_, source, roles, code, index) => {
    const messages = roles.map((role, i) => message(role, `${i}`));
    expect(() => ChatTemplate.from(source).render(messages)).toThrow(
      expect.objectContaining({
        code,
        message: expect.stringContaining(`(message ${index}, of role "${roles[index]}")`),
      }),
    );
  });

  test('behind a merged system message: the index of the caller', () => {
    const refusing = firstOnly.replace(
      '{% for m in messages %}',
      "{% for m in messages %}{% if m.content == 'bad' %}{{ raise_exception('no') }}{% endif %}",
    );
    const messages = [
      message('user', 'a'),
      message('system', 'b'),
      message('user', 'bad'),
      message('user', 'c'),
    ];
    expect(() => ChatTemplate.from(refusing).render(messages, { onNotice: () => {} })).toThrow(
      /no \(message 2, of role "user"\)/,
    );
  });
});
