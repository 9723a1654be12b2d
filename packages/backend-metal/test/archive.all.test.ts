// Compiled kernels on disk, on the emulated device.
import './emulated.js';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';

const scratch = mkdtempSync(join(tmpdir(), 'quern-archive-'));
afterAll(() => rmSync(scratch, { recursive: true }));

let runs = 0;

/** The kernels that a backend compiles for a step, with its compiled kernels in `folder`; and what it says of the system. */
async function compiled(folder: string): Promise<{ kernels: string[]; driver: string }> {
  const told = join(scratch, `compiled-${runs++}`);
  let driver = '';
  const before = process.env.QUERN_METAL_CACHE;
  process.env.QUERN_METAL_CACHE = folder;
  try {
    await withSettings({ QUERN_EMULATED_COMPILED: told }, async () => {
      using backend = await createBackend();
      using step = backend.step();
      await step.read(backend.l2Normalise(step.input(Float32Array.of(3, 4), [1, 2])));
      driver = backend.profile.driver ?? '';
    });
  } finally {
    process.env.QUERN_METAL_CACHE = before;
  }
  const lines = readdirSync(scratch).includes(`compiled-${runs - 1}`) ? readFileSync(told, 'utf8') : '';
  return { kernels: lines.split('\n').filter((line) => line === 'l2_normalise'), driver };
}

const filesOf = (folder: string) => readdirSync(folder).map((name) => join(folder, name));

test('a second backend compiles nothing', async () => {
  const folder = join(scratch, 'kept');
  expect((await compiled(folder)).kernels).toEqual(['l2_normalise']);
  expect(filesOf(folder).map((file) => file.replace(/.*\./, ''))).toEqual(['hash', 'metalarchive']);
  expect((await compiled(folder)).kernels).toEqual([]);
});

test('a damaged archive is not used, and is written again', async () => {
  const folder = join(scratch, 'damaged');
  await compiled(folder);
  const archive = filesOf(folder).find((file) => file.endsWith('.metalarchive'))!;
  writeFileSync(archive, 'damaged');
  expect((await compiled(folder)).kernels).toEqual(['l2_normalise']);
  expect((await compiled(folder)).kernels).toEqual([]);
});

test('a folder that cannot be written: a notice, and kernels all the same', async () => {
  const file = join(scratch, 'file');
  writeFileSync(file, '');
  const { kernels, driver } = await compiled(join(file, 'folder'));
  expect(kernels).toEqual(['l2_normalise']);
  expect(driver).toMatch(
    /^macOS 15\.1; kernels are compiled at each start: .* cannot be written \(Not a directory\)$/,
  );
});

test('an empty folder name: nothing on disk', async () => {
  expect((await compiled('')).kernels).toEqual(['l2_normalise']);
  expect((await compiled('')).kernels).toEqual(['l2_normalise']);
});
