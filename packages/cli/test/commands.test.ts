import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { demoModelPath } from '@quern/demo-model';
import { type MetadataInput, openGguf, writeGguf } from '@quern/quant';
import { forcedIsa } from '../../../test-scope.js';
import { writeGgml } from '../../runtime/test/quantize/ggml-file.js';
import { show } from '../src/commands/inspect.js';
import { quern } from './cli.js';

interface Expected {
  readonly prompt: string;
  readonly promptIds: number[];
  readonly greedyIds: number[];
  readonly text: string;
}

const expected = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../demo-model/model/expected.json', import.meta.url)), 'utf8'),
) as Expected;
const tokens = String(expected.greedyIds.length);

test('run streams the prompt and its continuation to stdout, everything else to stderr', async () => {
  const args = ['run', 'demo', '--raw', '-p', expected.prompt, '-n', tokens, '--temperature', '0'];
  const { code, stdout, stderr } = await quern(args);
  expect(code).toBe(0);
  expect(stdout.startsWith(expected.prompt)).toBe(true);
  expect(stdout.length).toBeGreaterThan(expected.prompt.length + 50);
  expect(stderr).toMatch(/tokens on cpu: prefill .* decode .* tokens\/s/);
});

test('run --json prints one object with the documented fields', async () => {
  const args = ['run', 'demo', '--raw', '-n', tokens, '--temperature', '0', '--json'];
  const { code, stdout } = await quern(args, expected.prompt);
  expect(code).toBe(0);
  const result = JSON.parse(stdout);
  expect(result.tokens).toEqual(expected.greedyIds);
  expect(result.promptTokens).toBe(expected.promptIds.length);
  expect(result.backend).toBe('cpu');
  expect(result.plan.context).toBeGreaterThan(0);
  for (const rate of ['prefillTokensPerSecond', 'decodeTokensPerSecond', 'loadMs'])
    expect(result[rate]).toBeGreaterThan(0);
});

test('inspect of a whisper.cpp file: same form as for GGUF', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-inspect-'));
  try {
    const [gguf, ggml] = [join(folder, 'whisper.gguf'), join(folder, 'ggml-whisper.bin')];
    await quern(['bench', '--arch', 'whisper-test', '--format', 'f32', '--make', gguf]);
    await writeGgml(ggml, gguf);
    const { code, stdout } = await quern(['inspect', ggml, '--tensors']);
    expect(code).toBe(0);
    for (const line of [
      /ggml-whisper\.bin: ggml, \d+ tensors, \d+\.\d MB$/m,
      /^ {2}whisper: 1\.7 million parameters; a token reads 6\.\d MB$/m,
      /^ {2}n_audio_state = 32$/m,
      /^ {2}tokens = \[.*\] \(50257 items\)$/m,
      /^ {2}decoder\.token_embedding\.weight f32 \[51865, 32\]$/m,
    ])
      expect(stdout).toMatch(line);
    const described = JSON.parse((await quern(['inspect', ggml, '--json'])).stdout);
    expect(described).toMatchObject({ kind: 'ggml', model: { kind: 'speech' }, metadata: { n_mels: 80 } });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ['--lookup', []],
  ['--draft', ['demo']],
])('run %s: the same greedy tokens, and the number of drafted ones', async (flag, values) => {
  const args = ['run', 'demo', '--raw', '-p', expected.prompt, '-n', tokens, '--temperature', '0', '--json'];
  const { code, stdout } = await quern([...args, flag, ...values, '--draft-max', '4']);
  expect(code).toBe(0);
  const result = JSON.parse(stdout);
  expect(result.tokens).toEqual(expected.greedyIds);
  expect(result.draftedTokens).toBeGreaterThanOrEqual(result.acceptedTokens);
});

test.each(['run', 'chat'])('%s refuses contradictory flags', async (command) => {
  for (const flags of [
    ['--lookup', '--draft', 'demo'],
    ['--draft-max', '4'],
  ]) {
    const { code, stderr } = await quern([command, 'demo', ...flags], 'A');
    expect(code).toBe(1);
    expect(stderr).toMatch(/--draft/);
  }
});

test('chat with speculation: the flags work, the answers are the same', async () => {
  const answers = (...flags: string[]) =>
    quern(['chat', 'demo', '--temperature', '0', '-n', '40', ...flags], 'Hello!\nHello!\n');
  const { stdout } = await answers();
  for (const flags of [['--lookup'], ['--draft', 'demo', '--draft-max', '4']])
    expect(await answers(...flags)).toMatchObject({ code: 0, stdout });
  const refused = await answers('--lookup', '--draft-max', '65');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/--draft-max .*from 1 to 64/);
});

test('the same seed gives the same text, another seed another', async () => {
  const text = async (seed: string) =>
    (
      await quern([
        'run',
        'demo',
        '--raw',
        '-p',
        expected.prompt,
        '-n',
        '40',
        '--temperature',
        '1',
        '--seed',
        seed,
      ])
    ).stdout;
  const [one, again, other] = [await text('7'), await text('7'), await text('8')];
  expect(again).toBe(one);
  expect(other).not.toBe(one);
});

test('tokenize and logits agree with run', async () => {
  const { ids } = JSON.parse((await quern(['tokenize', 'demo', expected.prompt, '--json'])).stdout);
  expect(expected.promptIds.slice(-ids.length)).toEqual(ids);
  const { stdout } = await quern(['logits', 'demo', '--ids', expected.promptIds.join(','), '--json']);
  const { logits } = JSON.parse(stdout) as { logits: number[][] };
  expect(logits).toHaveLength(expected.promptIds.length);
  const last = logits[logits.length - 1]!;
  expect(last.indexOf(Math.max(...last))).toBe(expected.greedyIds[0]);
});

test('--precision: logits are as asked, run tells it, devices too', async () => {
  const ids = Array.from({ length: 70 }, (_, i) => 3 + i).join(',');
  const logitsAt = async (precision: string) =>
    (await quern(['logits', 'demo', '--ids', ids, '--precision', precision, '--json'])).stdout;
  const [standard, exact] = [await logitsAt('standard'), await logitsAt('exact')];
  expect(await logitsAt('standard')).toBe(standard);
  if (forcedIsa !== 'scalar') expect(exact).not.toBe(standard); // scalar kernels round nothing
  const args = ['run', 'demo', '-p', 'A', '-n', '1', '--json'];
  const { plan } = JSON.parse((await quern([...args, '--precision', 'exact'])).stdout);
  expect(plan.ranges[0].precision).toBe('exact');
  const { stdout } = await quern(['devices', '--threads', '1', '--precision', 'fast']);
  expect(stdout).toMatch(/^cpu .*, 1 thread, precision fast$/m);
});

test.each([
  ['a'.repeat(60), `"${'a'.repeat(60)}"`],
  ['a'.repeat(61), `"${'a'.repeat(60)}…" (61 characters)`],
  [`${'"'.repeat(59)}`, JSON.stringify('"'.repeat(59))],
])('inspect shortens what is longer than 60 characters: %j', (value, shown) => {
  expect(show(value)).toBe(shown);
});

test('inspect shows metadata, formats and tensors', async () => {
  const { stdout } = await quern(['inspect', 'demo', '--tensors']);
  expect(stdout).toContain('general.architecture = "llama"');
  expect(stdout).toMatch(/llama: [\d.]+ million parameters; a token reads [\d.]+ MB/);
  expect(stdout).toMatch(/q8_0: \d+ tensors/);
  expect(stdout).toContain('blk.0.attn_q.weight q8_0');
  const file = JSON.parse((await quern(['inspect', 'demo', '--json'])).stdout);
  expect(file.kind).toBe('gguf');
  expect(file.tensors.length).toBeGreaterThan(10);
});

test('devices: the CPU backend and its measurements', async () => {
  const { devices } = JSON.parse((await quern(['devices', '--json'])).stdout);
  const cpu = devices.find((device: { backend?: string }) => device.backend === 'cpu');
  expect(cpu.profile.readBandwidth).toBeGreaterThan(0);
  expect(cpu.ceilings.readBandwidth).toBeGreaterThan(0);
  expect(cpu.ceilings.rates.f32).toBeGreaterThan(0);
  expect(cpu.capabilities).toContain('quantGguf');
  const { stdout } = await quern(['devices', '--threads', '1']);
  const rates = Object.keys(cpu.ceilings.rates).map((type) => `${type} [\\d.]+`);
  expect(stdout).toMatch(
    new RegExp(
      `measured: reads [\\d.]+ GB/s, [\\d.]+ with one thread; 10⁹ operations/s: ${rates.join(', ')}\n`,
    ),
  );
});

test('chat answers each line of standard input', async () => {
  const { code, stdout } = await quern(
    ['chat', 'demo', '--temperature', '0'],
    'Hello!\nTell me a story about a fox.\n/exit\n',
  );
  expect(code).toBe(0);
  expect(stdout.trim().split('\n').length).toBeGreaterThan(1);
});

test('chat with full context drops the oldest turns and continues', async () => {
  const question = 'Tell me a story about a fox and a very long winter, please.\n';
  const { code, stderr } = await quern(
    ['chat', 'demo', '--temperature', '0', '--ctx', '120'],
    question.repeat(3),
  );
  expect(code).toBe(0);
  expect(stderr).toMatch(/the context of 120 tokens is full/);
  expect(stderr).toMatch(/no longer fits in the context of 120 tokens: the oldest turn is forgotten/);
});

test('chat continues after a line that fails', async () => {
  const { code, stdout, stderr } = await quern(
    ['chat', 'demo', '--temperature', '0', '-n', '8'],
    `${'word '.repeat(600)}\nHello!\n`,
  );
  expect(stderr).toMatch(/\(PROMPT_TOO_LONG\)/);
  expect(stdout.trim()).not.toBe('');
  expect(code).toBe(1);
});

test('a piped prompt’s final line break is dropped', async () => {
  const ids = async (input: string) =>
    JSON.parse((await quern(['tokenize', 'demo', '--json'], input)).stdout).ids;
  expect(await ids('a fox\n')).toEqual(await ids('a fox'));
  expect(await ids('a fox\n\n')).not.toEqual(await ids('a fox'));
});

test('rates without a measurement are not shown', async () => {
  const summary = async (n: string) => (await quern(['run', 'demo', '-p', 'a fox', '-n', n])).stderr;
  expect(await summary('0')).toMatch(/^0 tokens on cpu; loaded/);
  expect(await summary('1')).toMatch(/^1 token on cpu: prefill [\d.]+ tokens\/s; loaded/);
});

test('inspect says what a file holds beside the model, and why it cannot be run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-inspect-'));
  try {
    const { metadata } = await openGguf(demoModelPath);
    const path = join(folder, 'cut.gguf');
    const tensor = { name: 'blk.9.x', shape: [4], format: 'f32', data: new Uint8Array(16) } as const;
    await writeGguf(path, { metadata: new Map(metadata) as Map<string, MetadataInput>, tensors: [tensor] });
    const { code, stdout } = await quern(['inspect', path]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}cannot be run: .*block_count is 5; expected at least 10.*\(BAD_CONFIG\)$/m);
    expect(stdout).toMatch(/gguf, 1 tensor, .*\n[\s\S]* f32: 1 tensor, /);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('inspect of a folder shows its model', async () => {
  const folder = fileURLToPath(new URL('../../demo-model/model', import.meta.url));
  const { code, stdout } = await quern(['inspect', folder]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/\.gguf: gguf, \d+ tensors/);
});
