import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const check = fileURLToPath(new URL('../../../tools/check-binary.mjs', import.meta.url));
/** As nvcc begins a fat binary. */
const kernels = Buffer.from('50ed55ba01001000', 'hex');

/** Runs `prepublishOnly` of a platform package with such an addon. */
function publish(bytes: Buffer, size = bytes.length) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-published-'));
  writeFileSync(join(folder, 'package.json'), '{"name": "backend-cuda-linux", "files": ["a.node"]}');
  writeFileSync(join(folder, 'a.node'), bytes);
  truncateSync(join(folder, 'a.node'), size);
  const { status, stderr } = spawnSync(process.execPath, [check], { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  return { status, stderr };
}

describe('an addon is published', () => {
  it('with kernels and up to 30 MB: what remains is that it is no addon', () => {
    const { status, stderr } = publish(kernels, 30_000_000);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^backend-cuda-linux: a\.node: its 30000000 bytes are no addon;/);
  });
  it('not without kernels', () => {
    const { status, stderr } = publish(Buffer.from('no kernels'));
    expect(status).toBe(1);
    expect(stderr).toContain('a.node has no kernels for GPUs');
  });
  it('not with more: the message has the size and advice', () => {
    const { status, stderr } = publish(kernels, 30_100_000);
    expect(status).toBe(1);
    expect(stderr).toMatch(/a\.node has 30\.1 MB, more than 30: leave architectures out/);
  });
});
