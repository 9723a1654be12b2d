import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-folder-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('makes what is missing, with its mode; a folder that is there stays', async () => {
  const path = join(folder, 'a/b/c');
  await makeFolder(path, 0o700);
  if (process.platform !== 'win32') expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700);
  writeFileSync(join(path, 'kept'), '');
  await makeFolder(path);
  await makeFolder('/');
  expect(existsSync(join(path, 'kept'))).toBe(true);
});

test('several at once make one', async () => {
  for (let i = 0; i < 50; i++) {
    const paths = ['a', 'a/b/c', 'a/b/d/e', 'a/b/c/f'].map((path) => join(folder, `race${i}`, path));
    await Promise.all([...paths, ...paths].map((path) => makeFolder(path)));
    for (const path of paths) expect(statSync(path).isDirectory()).toBe(true);
  }
});

test('a file in its place, or above it', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(join(file, 'x/y'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

const linux = process.platform === 'linux' ? test : test.skip;
linux.each(['/proc/x', '/proc/x/y'])('%s, which the system refuses with ENOENT, rejects', async (path) => {
  await expect(makeFolder(path)).rejects.toMatchObject({ code: 'ENOENT' });
});
