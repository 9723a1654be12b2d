import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const empty = join(folder, 'empty');
mkdirSync(empty);

const long = Array.from({ length: 600 }, () => 'word').join(' ');

const cases: readonly (readonly [name: string, args: readonly string[], code: string, says: RegExp])[] = [
  ['a missing file', ['run', '/no/such/model.gguf', '-p', 'x'], 'MODEL_NOT_FOUND', /\/no\/such\/model\.gguf/],
  ['a folder without a model', ['run', empty, '-p', 'x'], 'NO_MODEL', /config\.json|gguf/i],
  [
    'a file that is not GGUF',
    ['inspect', file('text.gguf', 'hello world, this is text')],
    'NOT_GGUF',
    /text\.gguf/,
  ],
  ['a truncated GGUF', ['inspect', file('short.gguf', 'GGUF\x03\0\0\0')], 'TRUNCATED', /short\.gguf/],
  [
    'a missing backend',
    ['run', 'demo', '-p', 'x', '--backend', 'granite'],
    'BACKEND_NOT_FOUND',
    /the path of its folder or module/,
  ],
  [
    'a prompt longer than the context',
    ['run', 'demo', '-p', long],
    'PROMPT_TOO_LONG',
    /512: .*\(--ctx on the command line\)/,
  ],
  [
    'more ids than the context',
    ['logits', 'demo', '--ids', '1,2,3', '--ctx', '2'],
    'PROMPT_TOO_LONG',
    /3 tokens do not fit in the context of 2: .*\(--ctx on the command line\)/,
  ],
  [
    'a context larger than memory',
    ['run', 'demo', '-p', 'x', '--ctx', '2000000000'],
    'CONTEXT_TOO_LARGE',
    /2000000000/,
  ],
  ['a token id out of range', ['logits', 'demo', '--ids', '1,99999'], 'BAD_TOKEN', /99999/],
  ['a folder without a model to inspect', ['inspect', empty], 'NO_MODEL', /gguf/i],
  ['a backend without a name', ['run', 'demo', '-p', 'x', '--backend', ''], 'BAD_OPTION', /backend is ''/],
  [
    'an instruction set that is none',
    ['run', 'demo', '-p', 'x', '--backend', 'cpu', '--backend-option', 'isa=mmx'],
    'BACKEND_FAILED',
    /instruction set 'mmx' is not available/,
  ],
];

test.each(cases)('%s gets one clear message and status 1', async (_name, args, code, says) => {
  const { code: status, stdout, stderr } = await quern(args);
  expect(status).toBe(1);
  expect(stderr).toMatch(new RegExp(`^quern: .*\\(${code}\\)`, 'm'));
  expect(stderr).toMatch(says);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(stdout).toBe('');
});

const pipe = join(folder, 'pipe.wav');
execFileSync('mkfifo', [pipe]);

test.each([
  ['-f', ['run', 'demo', '-f', pipe]],
  ['--chat-template', ['run', 'demo', '-p', 'x', '--chat-template', pipe]],
  ['--text', ['quantize', 'demo', join(folder, 'q.gguf'), 'q8_0', '--report', '--text', pipe]],
  ['--imatrix', ['quantize', 'demo', join(folder, 'q.gguf'), 'q8_0', '--imatrix', pipe]],
  ['a model', ['run', pipe, '-p', 'x']],
])('a pipe is refused without waiting: %s', async (_, args) => {
  const { code, stderr } = await quern(args);
  expect(code).toBe(1);
  expect(stderr).toBe(`quern: ${pipe}: is a pipe; give a regular file (NOT_A_FILE)\n`);
});

test('a missing instruction set: no fallback to another backend', async () => {
  const { code, stderr } = await quern(['run', 'demo', '-p', 'x'], '', { env: { QUERN_CPU_ISA: 'mmx' } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/'mmx'.*\(BACKEND_FAILED\)/);
});

test.each([
  ['--temperature', '-1'],
  ['--top-p', '0'],
  ['--min-p', '1.5'],
  ['--repeat-penalty', '0'],
  ['--ctx', '0'],
  ['--ctx', '-5'],
  ['-n', '2.5'],
  ['--threads', '1000000'],
  ['--precision', 'best'],
  ['--seed', '18446744073709551616'],
  ['--seed', '-1'],
])('%s %s is refused; the error names the option', async (option, value) => {
  const { code, stderr } = await quern(['run', 'demo', '-p', 'x', option, value]);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`option '.*${option}\\b.*' argument '${value}' is invalid`));
});

test.each(['0', '1025'])('--threads %s: one range in every command', async (threads) => {
  for (const args of [['run', 'demo', '-p', 'x'], ['bench'], ['quantize', 'demo', 'o.gguf', 'q8_0']]) {
    const { code, stderr } = await quern([...args, '--threads', threads]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('it must be a whole number from 1 to 1024.')]);
  }
});

test('bench --make does not overwrite a file without --force', async () => {
  const path = file('mine.gguf', 'precious');
  const { code, stderr } = await quern(['bench', '--make', path]);
  expect([code, readFileSync(path, 'utf8')]).toEqual([1, 'precious']);
  expect(stderr).toMatch(/mine\.gguf exists already: --force/);
});

test('bench --svg does not overwrite a file; the error comes before measuring', async () => {
  const path = file('mine.svg', 'precious');
  const { code, stderr } = await quern(['bench', '--svg', path]);
  expect([code, readFileSync(path, 'utf8')]).toEqual([1, 'precious']);
  expect(stderr).toBe(`error: ${path} exists already: --force overwrites it\n`);
});

const away = join(folder, 'no', 'folder');

test.each([
  ['bench', ['bench', '--svg', join(away, 'x.svg')]],
  ['bench serve', ['bench', 'serve', 'http://127.0.0.1:9', '--svg', join(away, 'x.svg')]],
])('%s --svg into a missing folder: the error comes before measuring', async (_, args) => {
  const { code, stderr } = await quern(args);
  expect(code).toBe(1);
  expect(stderr).toBe(
    `error: ${join(away, 'x.svg')} cannot be written: its folder: no such file or directory (ENOENT)\n`,
  );
});

test('--svg to a folder, or below a file', async () => {
  const messageOf = async (svg: string) => (await quern(['bench', '--svg', svg])).stderr;
  expect(await messageOf(folder)).toBe(`error: ${folder} cannot be written: it is a folder\n`);
  const below = join(file('no-folder', ''), 'x.svg');
  expect(await messageOf(below)).toMatch(/ cannot be written: its folder: .*\(ENOTDIR\)\n$/);
});

test.each([
  ['bench', ['bench', '--arch', 'tiny']],
  ['quantize --report', ['quantize', 'demo', '--report', '--text', file('text.txt', 'Once upon a time')]],
])('%s without a folder for temporary files names the variable', async (_, args) => {
  const { code, stderr } = await quern(args, '', { env: { TMPDIR: away, TEMP: away } });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^quern: no temporary folder can be made in .*no.folder: no such file or directory \(ENOENT\): set (TMPDIR|TEMP) to a folder that .*\(NO_TEMPORARY_FOLDER\)\n$/m,
  );
  expect(stderr).not.toMatch(/mkdtemp|\n\s+at /);
});

test.each([
  ['logits', ['logits', 'demo', '--ids', '1,,2']],
  ['transcribe', ['transcribe', 'demo', 'a.wav', '--temperatures', '0,,1']],
])('a list with an empty item is refused: %s', async (_, args) => {
  const { code, stderr } = await quern(args);
  expect(code).toBe(1);
  expect(stderr).toMatch(/is invalid\. it must be/);
});

test('the largest seed is accepted', async () => {
  const args = ['run', 'demo', '-p', 'Once', '-n', '2', '--seed', '18446744073709551615'];
  const [a, b] = await Promise.all([quern(args), quern(args)]);
  expect(a).toMatchObject({ code: 0, stdout: b.stdout });
});

test('help for an unknown command fails and lists the commands', async () => {
  const { code, stdout, stderr } = await quern(['help', 'nosuch']);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/there is no command 'nosuch'; commands: run, chat/);
  expect((await quern(['help', 'run'])).stdout).toMatch(/^Usage: quern run /);
});

test('quantize --json prints one object', async () => {
  const { code, stdout } = await quern(['quantize', 'demo', join(folder, 'demo.gguf'), 'q8_0', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ format: 'q8_0', path: join(folder, 'demo.gguf') });
});

test.each([
  [['--gpu-layers', '99'], '--split'],
  [['-ngl', '99'], '--split'],
  [['-c', '4096'], '--ctx'],
  [['--context', '4096'], '--ctx'],
  [['--n-predict', '9'], '--max-tokens'],
  [['--max-new-tokens', '9'], '--max-tokens'],
  [['--temp', '0'], '--temperature'],
  [['--repetition-penalty', '1'], '--repeat-penalty'],
  [['--lora', 'x'], '--adapter'],
])('%j of llama.cpp is refused with a hint to %s', async (args, flag) => {
  const { code, stderr } = await quern(['run', 'demo', ...args]);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^error: .*\\n\\(Did you mean ${flag}\\?\\)\\n$`));
});

test.each([
  [
    ['--quiet', 'run', 'demo', 'x'],
    "error: unknown option '--quiet'\n(--quiet stands after the command: quern run … --quiet)\n(quern --help tells more)\n",
  ],
  [
    ['--measure', 'devices'],
    "error: unknown option '--measure'\n(--measure stands after the command: quern devices … --measure)\n(quern --help tells more)\n",
  ],
  [['--nosuch', 'run'], "error: unknown option '--nosuch'\n(quern --help tells more)\n"],
])('%j: an option before the command is refused, with its place', async (args, expected) => {
  expect(await quern(args)).toEqual({ code: 1, stdout: '', stderr: expected });
});

test.each([
  [['run', 'demo'], 1, /^error: there is no prompt: .*nothing piped is no prompt/],
  [['run', 'demo', '--raw'], 1, /^error: there is no prompt/],
  [['run', 'demo', '', '-n', '1'], 0, /1 token on/],
  [['run', 'demo', '-p', '', '-n', '1'], 0, /1 token on/],
])('%j without input: status %d', async (args, status, says) => {
  const { code, stderr } = await quern(args);
  expect([code, stderr]).toEqual([status, expect.stringMatching(says)]);
});

test('no hint to an option that the command lacks', async () => {
  expect((await quern(['devices', '--gpu-layers', '9'])).stderr).not.toMatch(/--split/);
});

test('a misspelt option is refused with a hint to --help', async () => {
  const { code, stderr } = await quern(['run', 'demo', '--temprature', '1']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/--temperature/);
});
