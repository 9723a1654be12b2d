import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-run-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const greedy = ['--temperature', '0', '-n', '24'];
const request = 'Tell me a story about a fox.';

describe('a model with a chat template', () => {
  test('run answers like chat, and prints only the answer', async () => {
    const { code, stdout } = await quern(['run', 'demo', request, ...greedy]);
    expect(code).toBe(0);
    expect(stdout).toBe((await quern(['chat', 'demo', ...greedy], `${request}\n`)).stdout);
    expect(stdout).not.toContain(request);
  });

  test('the prompt from each source', async () => {
    const { stdout } = await quern(['run', 'demo', request, ...greedy]);
    const path = file('prompt.txt', `${request}\n`);
    const others = [
      quern(['run', 'demo', '-p', request, ...greedy]),
      quern(['run', 'demo', '-f', path, ...greedy]),
      quern(['run', 'demo', ...greedy], `${request}\n`),
    ];
    for (const other of await Promise.all(others)) expect(other.stdout).toBe(stdout);
  }, 120_000);

  test('--raw continues a text', async () => {
    const { stdout } = await quern(['run', 'demo', '--raw', 'Once upon a time', ...greedy]);
    expect(stdout).toMatch(/^Once upon a time\S* \w+/);
    const { text } = JSON.parse(
      (await quern(['run', 'demo', '--raw', '-p', 'Once upon a time', '--json', ...greedy])).stdout,
    );
    expect(stdout).toBe(`Once upon a time${text}\n`);
  });

  test('--deterministic reuses no prefix: not with --cache-dir', async () => {
    const run = ['run', 'demo', 'Once', '--json', '--deterministic', ...greedy];
    expect(JSON.parse((await quern(run)).stdout).cachedTokens).toBe(0);
    const refused = await quern([...run, '--cache-dir', join(folder, 'refused')]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/cacheDir and deterministic exclude each other/);
  });

  test('--cache-dir: a second process computes only the rest', async () => {
    const longer = `${request} It went to the river, to the mill and to the miller who lived there.`;
    const run = ['run', 'demo', longer, '--json', '--cache-dir', join(folder, 'blocks'), ...greedy];
    const [first, second] = [await quern(run), await quern(run)].map(({ stdout }) => JSON.parse(stdout));
    expect(second.text).toBe(first.text);
    expect([first.cachedTokens, second.cachedTokens]).toEqual([0, 16]);
  });

  test('--chat-template takes a file and a name', async () => {
    const prefix = file('prefix.jinja', '{% for m in messages %}{{ m.content }}{% endfor %}');
    const answered = JSON.parse(
      (await quern(['run', 'demo', '-p', 'Once', '--json', '--chat-template', prefix, ...greedy])).stdout,
    );
    const continued = JSON.parse(
      (await quern(['run', 'demo', '--raw', '-p', 'Once', '--json', ...greedy])).stdout,
    );
    expect(answered.tokens).toEqual(continued.tokens);
    const named = await quern(['run', 'demo', '-p', 'Once', '--chat-template', 'chatml', ...greedy]);
    expect(named.code).toBe(0);
  }, 120_000);

  test('thoughts go to stderr, unless --no-thinking; the answer is text alone', async () => {
    const template = file('thinks.jinja', '{{ messages[0].content }}<think>');
    const args = ['run', 'demo', request, '--chat-template', template, ...greedy];
    const shown = await quern(args);
    expect(shown.stdout).toBe('\n');
    expect(shown.stderr).toMatch(/<think>\n.+\n<\/think>\n/s);
    const { stderr } = await quern([...args, '--no-thinking']);
    expect(stderr).not.toContain('<think>');
    const { text, thinking } = JSON.parse((await quern([...args, '--json'])).stdout);
    expect(text).toBe('');
    expect(shown.stderr).toContain(thinking);
  }, 120_000);

  test('--system reaches the template', async () => {
    const template = file(
      'system.jinja',
      "{{ raise_exception(messages|map(attribute='content')|join('+')) }}",
    );
    const { stderr } = await quern([
      'run',
      'demo',
      'there',
      '--system',
      'hello',
      '--chat-template',
      template,
    ]);
    expect(stderr).toContain('hello+there');
  });
});

test.each([
  ['two prompts', ['a', '-p', 'b'], /as an argument and with -p: give it once/],
  ['three prompts', ['a', '-p', 'b', '-f', 'c'], /with -p and with -f/],
  ['no such file', ['-f', '/no/such/prompt.txt'], /no\/such\/prompt\.txt/],
  ['a system message for a text', ['a', '--raw', '--system', 'b'], /--raw continues a text/],
  ['a template for a text', ['a', '--raw', '--chat-template', 'chatml'], /--raw uses no chat template/],
  [
    'an unknown template',
    ['a', '--chat-template', 'vicuna'],
    /neither a file nor one of chatml, llama2, llama3/,
  ],
  ['a file without Jinja', ['a', '--chat-template', file('plain.txt', 'hello')], /holds no Jinja/],
])('%s is refused', async (_, args, says) => {
  const { code, stdout, stderr } = await quern(['run', 'demo', ...args]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(says);
  expect(stderr).not.toMatch(/\n\s+at /);
});

test('chat refuses an unknown command; // sends a message with a slash', async () => {
  const template = file('echo.jinja', '{{ raise_exception(messages[-1].content) }}');
  const { code, stdout, stderr } = await quern(
    ['chat', 'demo', '--chat-template', template],
    '/rest now\n//exit is a word\n/exit\nnever\n',
  );
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(
    'there is no command /rest: /help lists them, and //rest sends it as a message (UNKNOWN_COMMAND)',
  );
  expect(stderr).toContain('refuses these messages: /exit is a word');
  expect(stderr).not.toContain('never');
});

describe('structured output', () => {
  const answer = async (...flags: string[]) =>
    quern(['run', 'demo', request, '-n', '60', '--seed', '1', ...flags]);

  test('--schema, --regex, --choice and --grammar', async () => {
    const schema = file('schema.json', '{"type": "array", "items": {"type": "boolean"}, "maxItems": 3}');
    const grammar = file('grammar.gbnf', 'root ::= "yes" | "no"');
    const outputs = await Promise.all([
      answer('--schema', schema),
      answer('--regex', '[a-d]{4}'),
      answer('--choice', 'red', '--choice', 'blue'),
      answer('--grammar', grammar),
    ]);
    const [json, pattern, choice, derived] = outputs.map(({ stdout }) => stdout.trimEnd());
    const values: unknown[] = JSON.parse(json!);
    expect(values.every((value) => typeof value === 'boolean')).toBe(true);
    expect(pattern).toMatch(/^[a-d]{4}$/);
    expect(['red', 'blue']).toContain(choice);
    expect(['yes', 'no']).toContain(derived);
  }, 120_000);

  test.each([
    ['nope', /schema\.json is not JSON: /],
    ['{"uniqueItems": true, "type": "array"}', /BAD_GRAMMAR|uniqueItems/],
  ])('a schema file with %s: one message', async (content, message) => {
    const { code, stdout, stderr } = await answer('--schema', file('schema.json', content));
    expect([code === 0, stdout]).toEqual([false, '']);
    expect(stderr).toMatch(message);
  });
});
