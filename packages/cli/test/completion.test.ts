import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { commandsOf } from '../src/completion/tree.js';
import { program } from '../src/program.js';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A `quern` that knows three models. */
const names = ['demo', 'hf:owner/name:Q8_0', 'qwen3:0.6b'];
mkdirSync(join(folder, 'bin'));
writeFileSync(join(folder, 'bin/quern'), `#!/bin/sh\nprintf '%s\\n' ${names.join(' ')}\n`);
chmodSync(join(folder, 'bin/quern'), 0o755);
const here = join(folder, 'here');
mkdirSync(join(here, 'models'), { recursive: true });
for (const file of ['a.gguf', 'a b.gguf', 'speech.wav']) writeFileSync(join(here, file), '');

const env = { ...process.env, PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}` };

/** Runs a script of a shell; its lines. */
function lines(shell: string, args: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync(shell, args, { encoding: 'utf8', env, cwd: here });
  expect([status, stderr]).toEqual([0, '']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .sort();
}

const bash = (line: string): string[] =>
  lines('bash', [
    '--norc',
    '-c',
    `source ${join(folder, 'quern.bash')}; compopt() { :; }; COMP_LINE=${JSON.stringify(line)}; COMP_POINT=${line.length}; _quern; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ]);

/** fish also gives descriptions, after a tab. */
const fish = (line: string): string[] =>
  lines('fish', [
    '--no-config',
    '-c',
    `source ${join(folder, 'quern.fish')}; complete --do-complete ${JSON.stringify(line)}`,
  ]).map((each) => each.split('\t')[0]!);

const has = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(join(folder, `quern.${shell}`), (await quern(['completion', shell])).stdout);
});

describe.each([
  ['bash', bash],
  ['fish', fish],
] as const)('%s', (shell, complete) => {
  const inShell = has(shell) ? test : test.skip;

  inShell.each([
    ['quern ru', ['run']],
    ['quern bench se', ['serve']],
    ['quern bench serve --ra', ['--rate']],
    ['quern run --kv ', ['bf16', 'f16', 'f32', 'fp8', 'int8']],
    ['quern run demo --kv f3', ['f32']],
    ['quern run demo --chat-t', ['--chat-template']],
    ['quern completion z', ['zsh']],
    ['quern completion ', ['bash', 'fish', 'zsh']],
    ['quern run --backend a', ['auto']],
    ['quern verify --backend ref', ['reference']],
    ['quern bench --arch whisper-ti', ['whisper-tiny']],
    ['quern bench --precision ex', ['exact']],
    ['quern quantize demo out.gguf q8', ['q8_0']],
    ['quern transcribe demo sp', ['speech.wav']],
    ['quern run demo --cache-dir m', [shell === 'bash' ? 'models' : 'models/']],
  ])('%s', (line, words) => {
    expect(complete(line)).toEqual(words);
  });

  inShell('a model: names, and files where a path begins', () => {
    expect(complete('quern run d')).toEqual(['demo']);
    expect(complete('quern run -n 5 d')).toEqual(['demo']);
    expect(complete('quern run ./a')).toEqual(['./a b.gguf', './a.gguf']);
    expect(complete('quern serve demo d')).toEqual(['demo']);
    expect(complete('quern run demo --draft d')).toEqual(['demo']);
  });
});

const inBash = has('bash') ? test : test.skip;

inBash('bash ends words at colons: what stands before the last one is there already', () => {
  expect(bash('quern run hf:')).toEqual(['owner/name:Q8_0']);
  expect(bash('quern run hf:owner/name:Q')).toEqual(['Q8_0']);
  expect(bash('quern run qwen3:')).toEqual(['0.6b']);
  expect(bash('quern run a')).toEqual(['a.gguf', 'a\\ b.gguf']);
});

(has('zsh') ? test : test.skip)('the script for zsh is one of zsh', () => {
  expect(lines('zsh', ['-n', join(folder, 'quern.zsh')])).toEqual([]);
});

test('every command and option of the help is in every script', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await quern(['completion', shell]);
    for (const { path, options } of commandsOf(program())) {
      expect(stdout).toContain(path.split(' ').at(-1));
      for (const { long } of options)
        expect(stdout).toContain(shell === 'fish' ? `-l ${long.slice(2)}` : long);
    }
  }
});

test('models: the demo, the cache, the short names', async () => {
  const { code, stdout } = await quern(['completion', 'models'], '', {
    env: { HF_HUB_CACHE: join(folder, 'hub') },
  });
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual(expect.arrayContaining(['demo', 'qwen3:0.6b']));
});

test('another shell is refused', async () => {
  const { code, stderr } = await quern(['completion', 'tcsh']);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^error: .*'tcsh' is invalid.*bash, zsh, fish\.\n$/),
  ]);
});
