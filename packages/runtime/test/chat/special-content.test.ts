import { BUILTIN_TEMPLATES, type BuiltinTemplate } from '../../src/chat/builtin-templates.js';
import { type ChatMessage, ChatTemplate } from '../../src/chat/index.js';
import { type Tokenizer, tokenizerFromGguf } from '../../src/tokenizer/index.js';
import { sharedText, testWithShared } from '../tokenizer/shared-data.js';

const CONTROL = [
  '<s>',
  '</s>',
  '<|im_start|>',
  '<|im_end|>',
  '<|begin_of_text|>',
  '<|start_header_id|>',
  '<|end_header_id|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|python_tag|>',
  '<|im',
  '<|user|>',
  'ab',
];

/** A byte vocabulary with a space, the control tokens above, and the user-defined token <think>. */
function byteTokenizer(): Tokenizer {
  const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`);
  const tokens = ['<unk>', ...CONTROL, '<think>', '▁', ...bytes];
  const types = [2, ...CONTROL.map(() => 3), 4, 1, ...bytes.map(() => 6)];
  return tokenizerFromGguf(
    new Map<string, unknown>([
      ['tokenizer.ggml.model', 'llama'],
      ['tokenizer.ggml.tokens', tokens],
      ['tokenizer.ggml.token_type', types],
      ['tokenizer.ggml.scores', tokens.map(() => 0)],
      ['tokenizer.ggml.bos_token_id', 1],
      ['tokenizer.ggml.eos_token_id', 2],
      ['tokenizer.ggml.add_bos_token', false],
      ['tokenizer.ggml.add_space_prefix', false],
    ]),
  );
}

const tokenizer = byteTokenizer();
const tokens = { bosToken: '<s>', eosToken: '</s>' };
const controls = (ids: readonly number[]) =>
  ids.filter((id) => tokenizer.isControl(id)).map((id) => tokenizer.tokenText(id));

/** A generator of integers in [0, n); equal seeds give equal sequences. */
function random(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

const HARMLESS = [
  'Hello',
  ' ',
  '\n',
  'é😀',
  '"',
  "'",
  '\\',
  '<',
  '|',
  '>',
  '{{ x }}',
  '\ufdd0',
  '\ufdd1',
  '\ufdd0\ufdd1',
  '</think>',
  '<tool_response>',
];

/** A text with spellings of control tokens, fragments of spellings and other text; `hostile` false: letters only. */
function typed(pick: (n: number) => number, hostile: boolean): string {
  let text = '';
  for (let n = pick(6) + 1; n > 0; n--) {
    const spelling = CONTROL[pick(CONTROL.length)]!;
    const start = pick(3) === 0 ? pick(spelling.length) : 0;
    const end = pick(3) === 0 ? start + pick(spelling.length - start) + 1 : spelling.length;
    const harmless = HARMLESS[pick(HARMLESS.length)]!;
    text += pick(2) === 0 ? spelling.slice(start, end) : harmless;
  }
  return hostile ? text : `x${'y'.repeat(text.length)}`;
}

/** A chat whose structure does not depend on `hostile`. */
function chat(seed: number, hostile: boolean): ChatMessage[] {
  const pick = random(seed);
  const text = () => typed(pick, hostile);
  const call = {
    type: 'function',
    function: { name: text(), arguments: { [text()]: text(), list: [text()] } },
  };
  const [system, question, before, result, parts] = [text(), text(), text(), text(), [text(), text()]];
  return [
    { role: 'system', content: system },
    { role: 'user', content: question },
    { role: 'assistant', content: before, tool_calls: [call] },
    { role: 'tool', content: result, name: text() },
    { role: 'user', content: parts.map((part) => ({ type: 'text', text: part })) },
  ];
}

const withoutTools = (messages: readonly ChatMessage[]): ChatMessage[] => [
  messages[0]!,
  messages[1]!,
  { role: 'assistant', content: messages[2]!.content ?? '' },
  messages[4]!,
];

const seeds = Array.from({ length: 60 }, (_, i) => i + 1);

function needSameControls(template: ChatTemplate, plain: boolean): void {
  for (const seed of seeds) {
    const [hostile, innocent] = [true, false].map((which) => {
      const messages = plain ? withoutTools(chat(seed, which)) : chat(seed, which);
      const options = plain ? {} : { tools: [{ type: 'function', function: { name: messages[3]!.name } }] };
      return { ids: template.encode(messages, tokenizer, options), text: template.render(messages, options) };
    });
    expect(controls(hostile!.ids)).toEqual(controls(innocent!.ids));
    expect(tokenizer.decode(hostile!.ids, { special: true })).toBe(hostile!.text);
  }
}

describe('typed text never becomes a control token', () => {
  test.each(Object.keys(BUILTIN_TEMPLATES) as BuiltinTemplate[])('%s', (name) => {
    needSameControls(ChatTemplate.builtin(name, tokens), true);
  });

  for (const name of ['Qwen-Qwen3-0.6B', 'Qwen-Qwen2.5-7B-Instruct', 'meta-llama-Llama-3.1-8B-Instruct'])
    testWithShared(name, () => {
      needSameControls(ChatTemplate.from(sharedText(`chat-templates/${name}.jinja`), tokens), false);
    });

  test.each([
    ['joined parts', '{% for m in messages %}{{ m.content }}{% endfor %}'],
    [
      'trimmed, cut and turned',
      '{% for m in messages %}{{ (m.content ~ "")|trim }}{{ m.content[1:-1] }}{{ m.content[::-1] }}{% endfor %}',
    ],
    [
      'split and joined',
      "{% for m in messages %}{{ m.content.split('|')|join('|') }}{{ m.content.split()|join }}{% endfor %}",
    ],
    [
      'replaced',
      "{% for m in messages %}{{ m.content|replace('x', '<|im_end|>' if false else '<') }}{% endfor %}",
    ],
    [
      'as JSON and as Python',
      '{% for m in messages %}{{ m|tojson }}{{ m|tojson(ensure_ascii=true) }}{{ m }}{% endfor %}',
    ],
    [
      'with a role that makes a token',
      "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}",
    ],
    ['next to the template', '{% for m in messages %}<|i{{ m.content }}a{{ m.content }}b{% endfor %}'],
    [
      'in other cases',
      '{% for m in messages %}{{ m.content|lower }}{{ m.content|upper|lower }}{{ m.content|title }}{% endfor %}',
    ],
    [
      'formatted',
      "{% for m in messages %}{{ '%s|%5s' % (m.content, m.content) }}{{ '{}'.format(m.content) }}{% endfor %}",
    ],
    [
      'kept in macros and blocks',
      '{% macro f(x) %}{{ x }}{% endmacro %}{% for m in messages %}{% set b %}{{ f(m.content) }}{% endset %}{{ b }}{{ b|upper|lower }}{% endfor %}',
    ],
    [
      'character by character',
      '{% for m in messages %}{% for c in m.content %}{{ c }}{% endfor %}{{ m.content|list|join }}{% endfor %}',
    ],
    [
      'wrapped and indented',
      '{% for m in messages %}{{ m.content|wordwrap(9) }}{{ m.content|indent(2) }}{{ m.content|truncate(9) }}{{ m.content|e }}{% endfor %}',
    ],
  ])('%s', (_, source) => {
    for (const seed of seeds) {
      const [, question, , , parts] = chat(seed, true);
      const messages = [question!, { role: 'user', content: JSON.stringify(parts!.content) }];
      const template = ChatTemplate.from(source);
      const ids = template.encode(messages, tokenizer);
      const own = source.includes('m.role') ? ['<|user|>', '<|user|>'] : [];
      expect(controls(ids).filter((spelling) => !own.includes(spelling))).toEqual([]);
      expect(controls(ids)).toHaveLength(own.length);
      expect(tokenizer.decode(ids, { special: true })).toBe(template.render(messages));
    }
  });

  test('tools and further variables: no control tokens either', () => {
    const template = ChatTemplate.from('{{ tools|tojson }}{{ hint }}<|im_end|>');
    const ids = template.encode([], tokenizer, {
      tools: [{ name: '<|im_end|>' }],
      extra: { hint: '<|im_end|>' },
    });
    expect(controls(ids)).toEqual(['<|im_end|>']);
  });
});

const hello = [{ role: 'user', content: '<s><|im_end|><think>' }];

test('specialContent lets messages write control tokens', () => {
  const template = ChatTemplate.builtin('chatml');
  expect(controls(template.encode(hello, tokenizer))).toEqual(['<|im_start|>', '<|im_end|>', '<|im_start|>']);
  expect(controls(template.encode(hello, tokenizer, { specialContent: true }))).toEqual([
    '<|im_start|>',
    '<s>',
    '<|im_end|>',
    '<|im_end|>',
    '<|im_start|>',
  ]);
});

test('a user-defined token is not a control token: typed text may contain it', () => {
  const ids = ChatTemplate.builtin('chatml').encode(hello, tokenizer);
  expect(ids.filter((id) => tokenizer.tokenText(id) === '<think>')).toHaveLength(1);
});

test('a typed bos at the start of a message does not count as the template’s', () => {
  const template = ChatTemplate.from('{{ messages[0].content }}');
  const { encoding } = template.prompt(hello, tokenizer);
  expect(encoding.addBos).toBeUndefined();
  expect(ChatTemplate.from('{{ bos_token }}', tokens).prompt(hello, tokenizer).encoding.addBos).toBe(false);
});
