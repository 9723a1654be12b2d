import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { localModels } from '../src/home/local-models.js';
import type { Surroundings } from '../src/home/look-around.js';
import { showHome } from '../src/home/show-home.js';
import { atTerminal, open } from './at-terminal.js';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-home-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A folder with files of these sizes. */
function folderWith(name: string, sizes: Readonly<Record<string, number>>): string {
  for (const [path, size] of Object.entries({ '.keep': 0, ...sizes })) {
    const file = join(folder, name, path);
    mkdirSync(dirname(file), { recursive: true });
    const bytes = Buffer.alloc(size);
    if (/\.gguf$/i.test(path)) bytes.write('GGUF');
    writeFileSync(file, bytes);
  }
  return join(folder, name);
}

const env = { HF_HUB_CACHE: join(folder, 'hub') };

test('without a terminal: plain text on stdout, no question, status 0', async () => {
  const cwd = folderWith('plain', { 'mine.gguf': 2_500_000 });
  const { code, stdout, stderr } = await quern([], '', { env, cwd });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(
    /^quern \d+\.\d+\.\d+: language models on your own machine\n\nDevices\n {2}cpu: .* threads?\n/,
  );
  expect(stdout).toMatch(/ {2}memory: [\d.]+ GB of [\d.]+ GB free/);
  expect(stdout).toMatch(/Models\n {2}\.\/mine\.gguf {2}2\.5 MB\n {2}demo {9}included/);
  expect(stdout).toMatch(/Next\n {2}quern chat \.\/mine\.gguf +chat\n/);
  expect(stdout).not.toContain('?\u0020[Y/n]');
  expect(stdout).not.toContain('\u001b');
  expect(stdout).not.toContain('reference'); // only by name
  expect(stdout.trim().split('\n').length).toBeLessThan(23);
});

test('a backend that does not load: quern doctor is the next command', async () => {
  const { code, stdout } = await quern([], '', {
    env: { ...env, QUERN_CPU_BINARY: '/no/such.node' },
    cwd: folder,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/@quern\/backend-cpu: quern doctor tells why not/);
  expect(stdout).toMatch(/Next\n {2}quern doctor /);
});

test('models of a folder: splits once, no projectors, folders with weights', () => {
  const here = folderWith('many', {
    'a-00001-of-00002.gguf': 10,
    'a-00002-of-00002.gguf': 20,
    'mmproj-a.gguf': 5,
    'b.GGUF': 7,
    'empty.gguf': 0,
    'text.txt': 3,
    'qwen/config.json': 1,
    'qwen/model.safetensors': 40,
    'no-weights/config.json': 1,
  });
  expect(localModels(here)).toEqual([
    { name: './a-00001-of-00002.gguf', bytes: 30 },
    { name: './b.GGUF', bytes: 7 },
    { name: './qwen', bytes: 40 },
  ]);
  expect(localModels(join(here, 'qwen'))).toEqual([{ name: '.', bytes: 40 }]);
  expect(localModels(join(here, 'none'))).toEqual([]);
});

test('what does not begin as GGUF is no model, whatever its name', () => {
  const here = folderWith('texts', { 'short.gguf': 3, 'real.gguf': 4 });
  writeFileSync(join(here, 'text.gguf'), 'hello\n');
  mkdirSync(join(here, 'folder.gguf'));
  expect(localModels(here)).toEqual([{ name: './real.gguf', bytes: 4 }]);
});

const device = {
  package: 'p',
  backend: 'cpu',
  device: 'A CPU',
  kind: 'cpu',
  isa: 'avx2',
  threads: 1,
  totalMemory: 2e9,
  freeMemory: 1e9,
};
const bare: Surroundings = {
  devices: [device],
  failed: [],
  memory: { totalBytes: 2e9, availableBytes: 1e9, limitBytes: 1.5e9 },
  local: [],
  cached: [],
};

test('however much is there, it fits on a screen; names are quoted for a shell', () => {
  const models = Array.from({ length: 9 }, (_, i) => ({ name: `./it's model ${i}.gguf`, bytes: 1e9 }));
  const failed = Array.from({ length: 5 }, () => ({ package: 'bad', error: 'bad' }));
  const devices = Array.from({ length: 8 }, () => device);
  const text = showHome({ ...bare, devices, failed, local: models, cached: models });
  expect(text.trim().split('\n').length).toBeLessThan(23);
  expect(text).toContain('… and 7 more in this folder');
  expect(text).toContain("quern chat './it'\\''s model 0.gguf'");
  expect(text).toContain('memory: 1.0 GB of 2.0 GB free, limit 1.5 GB');
});

test('nothing there: how to begin', () => {
  const text = showHome({ ...bare, devices: [] });
  expect(text).toContain('none: npm install @quern/backend-cpu brings one');
  expect(showHome(bare)).toMatch(/quern chat qwen3:0\.6b +downloads a small chat model/);
});

const question = 'tell a story? [Y/n] ';

atTerminal.each([
  ['Enter tells the story', '\r', 0, /Once upon a time[\s\S]+tokens\/s/],
  ['n ends it', 'n\r', 0, /\[Y\/n\] (\S*)n\s*$/],
  ['Ctrl-D ends it', '\x04', 0, /\[Y\/n\] \S*\s*$/],
  ['Ctrl-C ends it with status 130', '\x03', 130, /\[Y\/n\] \S*\s*$/],
])('at a terminal it offers the demo: %s', async (_name, key, status, shows) => {
  const opened = open('', { env, cwd: folderWith('terminal', {}) });
  await opened.waitFor(question);
  opened.type(key);
  expect(await opened.finished).toBe(status);
  expect(opened.shown()).toMatch(shows);
});
