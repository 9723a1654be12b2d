import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FakeHub } from '../../hub/test/fake-hub.js';
import { type Finished, quern } from './cli.js';

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
