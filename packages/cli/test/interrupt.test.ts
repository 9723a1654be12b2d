import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Started, start } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-interrupt-'));
afterAll(() => rmSync(folder, { recursive: true }));

const prompt = 'Once upon a time';
/** Slow enough to be interrupted. */
const slowly = ['--backend', 'reference', '--temperature', '0', '-n', '400'];

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a generation at once, with partial output and status %i', async (signal, status) => {
  const running = start(['run', 'demo', '--raw', '-p', prompt, ...slowly]);
  await running.printed(prompt.length + 10);
  running.kill(signal);
  const { code, stdout, stderr } = await running.finished;
  expect(code).toBe(status);
  expect(stdout.length).toBeLessThan(1500);
  expect(stderr).toMatch(/\d+ tokens? on reference/);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a piped chat, waiting or answering, with status %i', async (signal, status) => {
  const idle = start(['chat', 'demo', '-n', '3'], 'Hello!\n', { open: true });
  await idle.printed(3);
  await new Promise((resolve) => setTimeout(resolve, 300));
  idle.kill(signal);
  const answering = start(['chat', 'demo', ...slowly], 'Tell me a story.\nAnother.\n', { open: true });
  await answering.printed(10);
  answering.kill(signal);
  for (const chat of [idle, answering]) {
    const { code, stderr } = await chat.finished;
    expect(code).toBe(status);
    expect(stderr).not.toMatch(/ABORTED/);
  }
});

/** `bench` with its own temporary folder, which the test inspects. */
function bench(name: string): { running: Started; left: () => string[]; folder: string } {
  const own = mkdtempSync(join(folder, name));
  const running = start(['bench', '--arch', 'qwen3-0.6b', '--format', 'q8_0'], '', { env: { TMPDIR: own } });
  return { running, left: () => readdirSync(own), folder: own };
}

const whereTmpdir = process.platform === 'win32' ? test.skip : test;

whereTmpdir('Ctrl-C ends bench with status 130, without figures and without its model', async () => {
  for (const times of [1, 2]) {
    const { running, left, folder: own } = bench(`times-${times}`);
    await until(() => left().some((name) => readdirSync(join(own, name)).length > 0));
    for (let i = 0; i < times; i++) running.interrupt();
    const { code, stdout } = await running.finished;
    expect([code, stdout, left()]).toEqual([130, '', []]);
  }
});

test('Ctrl-C during bench --make leaves no file', async () => {
  const path = join(folder, 'made.gguf');
  const running = start(['bench', '--make', path]);
  await until(() => existsSync(`${path}.partial`));
  running.interrupt();
  expect((await running.finished).code).toBe(130);
  expect(readdirSync(folder).filter((name) => name.startsWith('made'))).toEqual([]);
});

test('a closed pipe ends the command silently', async () => {
  const running = start(['run', 'demo', '--raw', '-p', prompt, ...slowly]);
  await running.printed(prompt.length + 1);
  running.stopReading();
  const { code, stderr } = await running.finished;
  expect([code, stderr.replace(/^backend 'reference' does not read.*\n/, '')]).toEqual([0, '']);
});
