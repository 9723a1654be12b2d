import { builtinTemplates, ChatTemplate } from '../../src/chat/index.js';
import { sharedText, testWithShared } from '../tokenizer/shared-data.js';

const render = (source: string) => ChatTemplate.from(source).render([{ role: 'user', content: 'x' }]);

const stopped = (bound: string) =>
  expect.objectContaining({
    name: 'ChatTemplateError',
    code: 'LIMIT',
    message: expect.stringMatching(new RegExp(`more than [\\d,]+ ${bound}`)),
  });

const twice = (start: string) =>
  `{% set ns = namespace(s=${start}) %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}`;

test.each([
  ['a long range', '{% for i in range(100000000) %}{% endfor %}', 'elements'],
  ['a range as a list', '{{ range(1000000000000)|list|length }}', 'elements'],
  [
    'nested loops',
    `${'{% for i in range(1000) %}'.repeat(4)}${'{% endfor %}'.repeat(4)}`,
    '(steps|elements)',
  ],
  [
    'loops without output',
    `{% set r = range(1000)|list %}${'{% for i in r %}'.repeat(4)}${'{% endfor %}'.repeat(4)}`,
    'steps',
  ],
  [
    'output',
    "{% set s = 'x' * 1000000 %}{% for i in range(1000) %}{{ s }}{% endfor %}",
    'characters of output',
  ],
  ['a repeated string', "{{ 'x' * 10000000000 }}", 'characters of strings'],
  ['a repeated list', '{{ [0] * 10000000000 }}', 'elements'],
  ['strings that double', twice("'x'"), 'characters of strings'],
  [
    'lists that double',
    '{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% endfor %}',
    'elements',
  ],
  [
    'a list of itself, printed',
    '{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}',
    '(steps|characters of strings)',
  ],
  [
    'a list of itself, as JSON',
    '{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l|tojson }}',
    '(steps|characters of strings)',
  ],
  [
    'a list of itself, compared',
    '{% set a = namespace(l=[1]) %}{% set b = namespace(l=[1]) %}{% for i in range(60) %}{% set a.l = [a.l, a.l] %}{% set b.l = [b.l, b.l] %}{% endfor %}{{ a.l == b.l }}',
    'steps',
  ],
  ['join', "{{ range(4000000)|join('x' * 100) }}", '(characters of strings|steps)'],
  ['replace', "{{ ('x' * 1000000)|replace('x', 'y' * 1000000) }}", 'characters of strings'],
  ['replace of an empty string', "{{ ('x' * 1000000).replace('', 'y' * 1000000) }}", 'characters of strings'],
  ['a wide column', "{{ 'x'.center(1000000000000) }}", 'characters of strings'],
  ['a wide field', "{{ '%1000000000d' % 1 }}", 'characters of strings'],
  ['a wide format', "{{ '{:>1000000000}'.format('x') }}", 'characters of strings'],
  ['many decimals', "{{ '%.1000000000f' % 1.5 }}", 'characters of strings'],
  ['indentation', "{{ ('a\n' * 1000000)|indent(1000000) }}", 'characters of strings'],
  ['tabs', "{{ ('\t' * 1000000).expandtabs(1000000) }}", 'characters of strings'],
  ['padding with zeros', "{{ '1'.zfill(1000000000000) }}", 'characters of strings'],
  ['a macro that calls itself', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', 'levels'],
  ['macros that call each other', '{% macro f(g) %}{{ g(g) }}{% endmacro %}{{ f(f) }}', 'levels'],
  [
    'a loop that calls itself',
    '{% set l = namespace(x=[1]) %}{% for i in l.x recursive %}{{ loop(l.x) }}{% endfor %}',
    'levels',
  ],
  [
    'a macro that calls itself twice',
    '{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}',
    'steps',
  ],
  [
    'nested values',
    '{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}',
    'levels',
  ],
  [
    'a captured block',
    "{% set ns = namespace(s='x' * 1000000) %}{% for i in range(1000) %}{% set t %}{{ ns.s }}{% endset %}{% endfor %}",
    'characters of strings',
  ],
  [
    'strings read many times',
    "{% set s = 'x' * 10000000 %}{% for i in range(10000) %}{% if 'y' in s %}{% endif %}{% endfor %}",
    'steps',
  ],
])('%s: stopped; the error names the bound', (_, source, bound) => {
  expect(() => render(source)).toThrow(stopped(bound));
});

test.each([
  ['{{ 10 ** (10 ** 10) }}', 'more than 4300 digits'],
  [
    '{% set ns = namespace(n=3) %}{% for i in range(60) %}{% set ns.n = ns.n * ns.n %}{% endfor %}',
    'more than 4300 digits',
  ],
  [`{{ ${'('.repeat(5000)}1${')'.repeat(5000)} }}`, 'nested more than 200 deep'],
  [`${'{% if 1 %}'.repeat(5000)}`, 'nested more than 200 deep'],
])('%#: refused', (source, message) => {
  expect(() => render(source)).toThrow(
    expect.objectContaining({ name: 'ChatTemplateError', message: expect.stringContaining(message) }),
  );
});

test('a tuple of tuples as a key', () => {
  const source =
    '{% set ns = namespace(t=(1,)) %}{% for i in range(60) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}{{ {ns.t: 1} }}';
  expect(() => render(source)).toThrow(expect.objectContaining({ code: 'RENDER_FAILED' }));
});

test('an almost-number is scanned once', () => {
  expect(render("{{ ('1' * 1000000 ~ 'x')|float(7) }}")).toBe('7');
});

test('cyclic messages, and deeply nested messages', () => {
  const self: Record<string, unknown> = {};
  self.self = self;
  const deep = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) as unknown;
  for (const value of [self, deep]) {
    const message = { role: 'user', content: 'x', value };
    expect(() => ChatTemplate.from('x').render([message])).toThrow(
      expect.objectContaining({
        code: 'RENDER_FAILED',
        message: expect.stringContaining('nested more than 200 deep'),
      }),
    );
  }
});

test('no backtracking: megabytes of white space and brackets in a template', () => {
  const spaces = ' '.repeat(1_000_000);
  for (const source of [
    `{{- 1 }}${spaces}{{- 2 }}`,
    `${spaces}x`,
    `{% raw %}${spaces}{% endraw %}`,
    `{#${spaces}#}x`,
    `{{ '${spaces}'.split()|length }}`,
  ])
    expect(() => render(source)).not.toThrow();
  expect(render("{{ ('<' * 1000000)|striptags|length }}")).toBe('1000000');
});

const long = Array.from({ length: 10_000 }, (_, i) => ({
  role: i % 2 === 0 ? 'user' : 'assistant',
  content: `message ${i} `.repeat(40),
}));

test.each(builtinTemplates)('10,000 messages in %s', (name) => {
  const text = ChatTemplate.builtin(name, { bosToken: '<s>', eosToken: '</s>' }).render(long);
  expect(text.length).toBeGreaterThan(long.length * 400);
});

for (const name of ['Qwen-Qwen3-0.6B', 'Qwen-Qwen2.5-7B-Instruct', 'meta-llama-Llama-3.1-8B-Instruct'])
  testWithShared(`10,000 messages in ${name}`, () => {
    const template = ChatTemplate.from(sharedText(`chat-templates/${name}.jinja`));
    expect(template.render(long).length).toBeGreaterThan(long.length * 300);
  });

test('a string and a list that grow with every message', () => {
  const source =
    "{% set ns = namespace(s='', l=[]) %}{% for m in messages %}{% set ns.s = ns.s ~ m.role ~ m.content|trim %}{% set ns.l = ns.l + [m.role] %}{% endfor %}{{ ns.s }}{{ ns.l|length }}";
  expect(ChatTemplate.from(source).render(long.slice(0, 3000))).toMatch(/3000$/);
});
