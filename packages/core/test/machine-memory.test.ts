import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { freemem, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { machineMemory } from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-groups-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A made-up file system. */
function system(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(folder, 'system-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const inGroup = { 'proc/self/cgroup': '0::/a/b\n' };

test('version 2: the tightest limit of a group and its parents; cached files count as free', () => {
  const root = system({
    ...inGroup,
    'sys/fs/cgroup/a/memory.max': '1000\n',
    'sys/fs/cgroup/a/memory.current': '700\n',
    'sys/fs/cgroup/a/memory.stat': 'anon 500\ninactive_file 200\n',
    'sys/fs/cgroup/a/b/memory.max': 'max\n',
    'sys/fs/cgroup/a/b/memory.current': '600\n',
  });
  expect(machineMemory(root)).toEqual({ total: 1000, available: 500 });
});

test('version 2: memory.high is a limit too', () => {
  const root = system({
    ...inGroup,
    'sys/fs/cgroup/a/b/memory.max': '1000\n',
    'sys/fs/cgroup/a/b/memory.high': '800\n',
    'sys/fs/cgroup/a/b/memory.current': '700\n',
  });
  expect(machineMemory(root)).toEqual({ total: 800, available: 100 });
});

test('version 1, beside other controllers', () => {
  const root = system({
    'proc/self/cgroup': '5:cpu,cpuacct:/c\n4:memory:/c\n0::/\n',
    'sys/fs/cgroup/memory/c/memory.limit_in_bytes': '2000\n',
    'sys/fs/cgroup/memory/c/memory.usage_in_bytes': '1500\n',
    'sys/fs/cgroup/memory/c/memory.stat': 'inactive_file 1\ntotal_inactive_file 300\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
  });
  expect(machineMemory(root)).toEqual({ total: 2000, available: 800 });
});

test('inside a container that hides its own folders: the root of the visible folders', () => {
  const root = system({
    'proc/self/cgroup': '4:memory:/docker/0123\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '3000\n',
    'sys/fs/cgroup/memory/memory.usage_in_bytes': '3500\n',
  });
  expect(machineMemory(root)).toEqual({ total: 3000, available: 0 });
});

test.each([
  ['no limit', { ...inGroup, 'sys/fs/cgroup/a/b/memory.max': 'max\n' }],
  ['no groups', {}],
])('%s: memory of the system', (_name, files) => {
  const { total, available } = machineMemory(system(files));
  expect(total).toBe(totalmem());
  expect(available).toBeGreaterThan(freemem() / 2);
  expect(available).toBeLessThanOrEqual(total);
});
