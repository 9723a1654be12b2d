// A dry run of tools/gpu/mac.mjs on the emulated device.
import './emulated.js';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../../tools/gpu/mac.mjs', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'quern-mac-kit-'));
afterAll(() => rmSync(scratch, { recursive: true }));

test('check', () => {
  const out = join(scratch, 'out');
  const args = [script, '--emulated', '--small', '--kit', join(scratch, 'kit'), 'check'];
  execFileSync(process.execPath, args, {
    env: { ...process.env, OUT: out, QUERN_GPU_PATIENCE: '6' },
    stdio: 'pipe',
  });
  const { checks, machine } = JSON.parse(readFileSync(join(out, 'results-check.json'), 'utf8'));
  expect(machine).toMatchObject({ device: 'emulated GPU', isa: 'apple9', backend: 'metal', emulated: true });
  for (const [name, { passed }] of Object.entries<{ passed?: boolean }>(checks))
    expect([name, passed]).not.toEqual([name, false]);
}, 300_000);
