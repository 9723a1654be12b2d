// Files that change during loading.
import { appendFileSync, copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needUnchanged } from '../src/weights/need-unchanged.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-changing-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'model.gguf');
beforeEach(() => writeFileSync(path, 'weights'));

/** Two weights that record their disposal. */
function twoWeights() {
  const disposed: number[] = [];
  return { disposed, weights: [0, 1].map((i) => ({ dispose: () => void disposed.push(i) })) };
}

test('an unchanged file', async () => {
  const { disposed, weights } = twoWeights();
  expect(await needUnchanged(new Set([path]), async () => weights)).toBe(weights);
  expect(disposed).toEqual([]);
});

test.each<[string, () => void]>([
  ['written to', () => writeFileSync(path, 'WEIGHTS')],
  ['made longer', () => appendFileSync(path, 'more')],
  [
    'replaced',
    () => {
      copyFileSync(path, `${path}.new`);
      renameSync(`${path}.new`, path);
    },
  ],
  ['removed', () => rmSync(path)],
])('a file that is %s: an error, what was loaded is discarded', async (_, change) => {
  const { disposed, weights } = twoWeights();
  await new Promise((resolve) => setTimeout(resolve, 20)); // longer than a tick of the file system's clock
  const load = async () => {
    change();
    return weights;
  };
  const loading = needUnchanged(new Set([path]), load, (loaded) => {
    for (const weight of loaded) weight.dispose();
  });
  await expect(loading).rejects.toMatchObject({ name: 'FileError', code: 'CHANGED', path });
  expect(disposed).toEqual([0, 1]);
});
