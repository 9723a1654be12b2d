// Launches of a decode step on a GPU (docs/cuda.md, counts).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withSettings } from '../../../gpu/test/settings.js';
import { loadModel } from '../../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-launches-'));
const file = join(folder, 'launches');
afterAll(() => rmSync(folder, { recursive: true }));

/** Kernels that run while `act` does, one line each. */
async function launchesOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  writeFileSync(file, '');
  await withSettings({ QUERN_EMULATED_LAUNCHES: file }, async () => void (await act()));
  return readFileSync(file, 'utf8').split('\n').filter(Boolean);
}

test.each(['cuda', 'metal'])(
  '%s: a token takes six launches per layer, and five',
  async (name) => {
    await import(`../../../backend-${name}/test/emulated.js`);
    const { createBackend } = await import(`../../../backend-${name}/src/index.js`);
    using backend = await createBackend();
    using model = await loadModel('demo', { backend, context: 64 });
    const generated = (maxTokens: number) =>
      launchesOf(() => model.generate('Once upon', { maxTokens, temperature: 0 }).result);
    await generated(4); // captured from now on
    const [few, more] = [await generated(4), await generated(12)];
    expect((more.length - few.length) / 8).toBe(6 * model.config.layers + 5);
  },
  120_000,
);
