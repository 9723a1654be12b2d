import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FakeHub, sha256 } from '../../hub/test/fake-hub.js';
import { atTerminal, open } from './at-terminal.js';

const demoFolder = dirname(createRequire(import.meta.url).resolve('@quern/demo-model/package.json'));
const demo = readFileSync(join(demoFolder, 'model/quern-demo.gguf'));

let hub: FakeHub;
let cacheDir: string;
let env: Record<string, string>;

beforeEach(async () => {
  hub = await FakeHub.start();
  hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo });
  cacheDir = mkdtempSync(join(tmpdir(), 'quern-bar-'));
  env = { HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: cacheDir, HF_HOME: cacheDir, HF_TOKEN: '', NO_PROXY: '*' };
});

afterEach(async () => {
  await hub.stop();
  rmSync(cacheDir, { recursive: true, force: true });
});

/** The storage sends half of the bytes, and the rest when `go` has settled. */
function pauseAtHalf(go: () => Promise<void>): void {
  let waiting: Promise<void> | undefined;
  const afterChunk = async () => {
    if (hub.storageBytes < demo.length / 2) return;
    waiting ??= go();
    await waiting;
  };
  hub.fault = ({ at }) => (at === 'storage' ? { chunk: 2 ** 14, afterChunk } : undefined);
}

const [showCursor, hideCursor] = ['\x1b[?25h', '\x1b[?25l'];
const partial = () => join(cacheDir, 'models--owner--demo/blobs', `${sha256(demo)}.incomplete`);

atTerminal('a download draws a bar with bytes, takes it away, and prints the path', async () => {
  const pull = open('pull hf:owner/demo', { env });
  pauseAtHalf(() => pull.waitFor(' of 2.6 MB'));
  expect(await pull.finished).toBe(0);
  const shown = pull.shown();
  expect(shown).toMatch(/[█░]+ \d+% download: [\d.]+ [kM]?B of 2\.6 MB/);
  expect([shown.includes(hideCursor), shown.lastIndexOf(showCursor) > shown.lastIndexOf(hideCursor)]).toEqual(
    [true, true],
  );
  const end = shown.slice(shown.lastIndexOf(' of 2.6 MB'));
  expect(end).toMatch(/hf:owner\/demo: Q8_0, 1 file, 2\.6 MB\r\n\/.*demo-Q8_0\.gguf\r\n/);
  expect(shown).not.toContain('download: 10 %'); // the lines of a log
});

atTerminal(
  'Ctrl-C takes the bar away and keeps the bytes; the next pull shows where it goes on',
  async () => {
    const pull = open('pull hf:owner/demo', { env });
    pauseAtHalf(async () => {
      await pull.waitFor(' of 2.6 MB');
      while (!existsSync(partial()) || statSync(partial()).size === 0)
        await new Promise((resolve) => setTimeout(resolve, 5));
      pull.type('\x03');
      await pull.finished;
    });
    expect(await pull.finished).toBe(130);
    const shown = pull.shown();
    expect(shown.lastIndexOf(showCursor)).toBeGreaterThan(shown.lastIndexOf(hideCursor));
    const kept = statSync(partial()).size;
    hub.fault = () => undefined;
    const before = hub.storageBytes;
    const again = open('pull hf:owner/demo', { env });
    expect(await again.finished).toBe(0);
    expect(hub.storageBytes - before).toBe(demo.length - kept);
  },
);

atTerminal('--quiet draws no bar', async () => {
  const pull = open('pull hf:owner/demo --quiet', { env });
  expect(await pull.finished).toBe(0);
  expect(pull.shown()).not.toContain('%');
  expect(pull.shown()).not.toContain(hideCursor);
  expect(readdirSync(cacheDir)).toContain('models--owner--demo');
});
