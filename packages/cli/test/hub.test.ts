import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FakeHub, type Fault, sha256 } from '../../hub/test/fake-hub.js';
import { type Finished, quern, start } from './cli.js';

const require = createRequire(import.meta.url);
const demo = readFileSync(
  join(dirname(require.resolve('@quern/demo-model/package.json')), 'model/quern-demo.gguf'),
);
const story = ['Once upon a time', '--raw', '-n', '4', '--temperature', '0'];

let hub: FakeHub;
let cacheDir: string;
let env: Record<string, string>;

beforeEach(async () => {
  hub = await FakeHub.start();
  cacheDir = mkdtempSync(join(tmpdir(), 'quern-cli-hub-'));
  env = { HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: cacheDir, HF_HOME: cacheDir, HF_TOKEN: '', NO_PROXY: '*' };
});

afterEach(async () => {
  await hub.stop();
  rmSync(cacheDir, { recursive: true, force: true });
});

const run = (...args: string[]): Promise<Finished> => quern(args, '', { env });

test('pull, run by name, ls, rm', async () => {
  const commit = hub.commit('owner/demo-GGUF', {
    'demo-Q8_0.gguf': demo,
    'README.md': Buffer.from('# demo'),
  });
  const pulled = await run('pull', 'hf:owner/demo-GGUF');
  const path = join(cacheDir, 'models--owner--demo-GGUF/snapshots', commit, 'demo-Q8_0.gguf');
  expect(pulled).toMatchObject({ code: 0, stdout: `${path}\n` });
  expect(pulled.stderr).toMatch(
    /download: 100 % \(2\.6 MB of 2\.6 MB\)\nhf:owner\/demo-GGUF: Q8_0, 1 file, 2\.6 MB\n$/,
  );
  const before = hub.seen.length;
  const [named, plain] = [
    await run('run', 'hf:owner/demo-GGUF:Q8_0', ...story),
    await run('run', 'demo', ...story),
  ];
  expect([named.code, named.stdout]).toEqual([0, plain.stdout]);
  expect(hub.seen).toHaveLength(before);
  const listed = await run('ls', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject({
    models: [{ name: 'hf:owner/demo-GGUF:Q8_0', quantisation: 'Q8_0', bytes: demo.length, path }],
  });
  expect((await run('ls')).stdout).toMatch(
    /^NAME +QUANTISATION +SIZE +LAST USED +PATH\nhf:owner\/demo-GGUF:Q8_0 +Q8_0 +2\.6 MB +\d{4}-\d\d-\d\d \d\d:\d\d +\S+\n$/,
  );
  const refused = await run('rm', 'hf:owner/demo-GGUF');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('give --yes') });
  const removed = await run('rm', 'hf:owner/demo-GGUF', '--yes');
  expect(removed).toMatchObject({ code: 0, stderr: 'removed 1 file of hf:owner/demo-GGUF, 2.6 MB\n' });
  expect((await run('ls')).stderr).toMatch(/^no models are in the cache/);
});

test('every command takes names: --revision, --offline, --draft, name=NAME of serve', async () => {
  const commit = hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo }, 'v2');
  const tokens = await run('tokenize', 'hf:owner/demo', 'Once', '--revision', 'v2');
  expect(tokens.stdout).toBe((await run('tokenize', 'demo', 'Once')).stdout);
  const inspected = await run('inspect', `hf:owner/demo@${commit}`, '--offline', '--json');
  expect(JSON.parse(inspected.stdout)).toMatchObject({ kind: 'gguf', path: expect.stringContaining(commit) });
  const drafted = await run('run', 'demo', '--draft', 'hf:owner/demo@v2', ...story);
  expect([drafted.code, drafted.stdout]).toEqual([0, (await run('run', 'demo', ...story)).stdout]);
  const twice = await run('serve', 'x=hf:owner/demo@v2', 'x=demo', '--offline');
  expect(twice.stderr).toContain("two models are named 'x'"); // the name was found, and the rest is that of serve
  const seen = hub.seen.length;
  const offline = await run('run', 'hf:owner/demo:Q4_0', '--offline', '--revision', 'v2', ...story);
  expect([offline.code, offline.stdout]).toEqual([1, '']);
  expect(offline.stderr).toMatch(
    /has no GGUF file in Q4_0; it has Q8_0.*run quern pull hf:owner\/demo@v2:Q4_0.*\(NOT_CACHED\)/,
  );
  expect(hub.seen).toHaveLength(seen);
});

test('serve: the model of a folder has the name of its repository', async () => {
  const config = { architectures: ['LlamaForCausalLM'], model_type: 'llama' };
  hub.commit('owner/Folder-1B', {
    'config.json': Buffer.from(JSON.stringify(config)),
    'model.safetensors': Buffer.from('not safetensors'),
  });
  const twice = await run('serve', 'hf:owner/Folder-1B', 'Folder-1B=demo');
  expect(twice).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("two models are named 'Folder-1B'"),
  });
});

test('a path stays a path; an unknown name has the known ones', async () => {
  writeFileSync(join(cacheDir, 'qwen3:0.6b'), 'no model');
  const path = await quern(['inspect', 'qwen3:0.6b'], '', { env, cwd: cacheDir });
  expect(path.stderr).toMatch(/qwen3:0\.6b.*NOT_GGUF/);
  const unknown = await run('run', 'nosuch:7b', ...story);
  expect(unknown).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no file and no short name "nosuch:7b"; short names are qwen3:0\.6b, /),
  });
  const missing = await run('run', './nosuch.gguf', ...story);
  expect(missing.stderr).toMatch(
    /no model '\.\/nosuch\.gguf' \(looked at .*a name of the Hugging Face Hub as hf:/,
  );
  expect(hub.seen).toEqual([]);
});

test('errors of the Hub: one line, exit status 1', async () => {
  hub.commit('private/demo', { 'demo-Q8_0.gguf': demo });
  const closed = await run('pull', 'hf:private/demo');
  expect(closed).toMatchObject({ code: 1, stdout: '' });
  expect(closed.stderr).toMatch(
    /^quern: hf:private\/demo: .* status 401: .* set HF_TOKEN \(UNAUTHORIZED\)\n$/,
  );
  env.HF_TOKEN = hub.token;
  const opened = await run('pull', 'hf:private/demo', '--json');
  expect(JSON.parse(opened.stdout)).toMatchObject({
    repository: 'private/demo',
    quantisation: 'Q8_0',
    bytes: demo.length,
  });
  expect(opened.stderr).not.toContain(hub.token);
});

const partial = () => join(cacheDir, 'models--owner--demo', 'blobs', `${sha256(demo)}.incomplete`);

/** Calls `act` once, when the storage has sent this many bytes in all. */
function atByte(point: number, act: () => void | Promise<void>): void {
  let acting: Promise<void> | undefined;
  const fault: Fault = {
    async afterChunk() {
      if (hub.storageBytes >= point) acting ??= Promise.resolve(act());
      await acting;
    },
  };
  hub.fault = ({ at }) => (at === 'storage' ? fault : undefined);
}

const written = () => (existsSync(partial()) ? statSync(partial()).size : 0);

/** The storage sends this many bytes in all, then no more; when more than `before` bytes are on the disk, `end` ends the pull. */
function endAt(point: number, before: number, end: () => void): void {
  atByte(point, async () => {
    while (written() <= before) await new Promise((resolve) => setTimeout(resolve, 10));
    end();
    await new Promise(() => {});
  });
}

test('a pull that is killed goes on where it was', async () => {
  hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo });
  let before = 0;
  for (const share of [0.1, 0.4, 0.7]) {
    const pulling = start(['pull', 'hf:owner/demo'], '', { env });
    endAt(Math.floor(share * demo.length), before, () => pulling.kill('SIGKILL'));
    expect((await pulling.finished).code).toBeNull();
    const size = written();
    expect(size).toBeGreaterThan(before);
    expect(demo.subarray(0, size).equals(readFileSync(partial()))).toBe(true);
    before = size;
  }
  hub.fault = () => undefined;
  const seen = hub.seen.length;
  const pulled = await run('pull', 'hf:owner/demo');
  expect(readFileSync(pulled.stdout.trim()).equals(demo)).toBe(true);
  const [resumed] = hub.seen.slice(seen).filter(({ at }) => at === 'storage');
  expect(resumed!.range).toBe(`bytes=${before}-${demo.length - 1}`);
});

test('Ctrl-C ends a pull with status 130; the bytes stay', async () => {
  hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo });
  const pulling = start(['pull', 'hf:owner/demo'], '', { env });
  endAt(1_000_000, 0, () => pulling.interrupt());
  expect((await pulling.finished).code).toBe(130);
  expect(statSync(partial()).size).toBeGreaterThan(0);
});

test('two processes fetch a file once; the second says whom it waits for', async () => {
  hub.commit('owner/demo', { 'demo-Q8_0.gguf': demo });
  const first = start(['pull', 'hf:owner/demo'], '', { env });
  let second: ReturnType<typeof start> | undefined;
  atByte(1, async () => {
    second = start(['run', 'hf:owner/demo', ...story], '', { env });
    await second.said(/waiting for process \d+, which downloads this model/);
  });
  const [{ code }, ran] = [await first.finished, await second!.finished];
  expect([code, ran.code, ran.stdout]).toEqual([0, 0, (await run('run', 'demo', ...story)).stdout]);
  expect(ran.stderr).toMatch(/waiting for process \d+/);
  expect(hub.storageBytes).toBe(demo.length);
});
