import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'quern-nvcc-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Configures the addon with an nvcc that only says its version: what CMake says, and the rules that it has written. */
function configure(version: string) {
  const nvcc = join(folder, 'nvcc');
  writeFileSync(nvcc, `#!/bin/sh\necho "Cuda compilation tools, release ${version}, V${version}.1"\n`, {
    mode: 0o755,
  });
  const build = join(folder, version);
  const args = ['-S', source, '-B', build, '-G', 'Unix Makefiles', `-DNVCC=${nvcc}`];
  const { status, stderr } = spawnSync('cmake', args, { encoding: 'utf8' });
  const rules = status === 0 ? join(build, 'CMakeFiles/backend_cuda.dir') : undefined;
  const text = rules ? readdirSync(rules).filter((name) => /\.make$/.test(name)) : [];
  return {
    status,
    message: stderr.replace(/\s+/g, ' '),
    rules: text.map((name) => readFileSync(join(rules ?? '', name), 'utf8')).join('\n'),
  };
}

describe('the addon is configured', () => {
  it('by CUDA 13 for its drivers, in the smallest form', () => {
    const { status, rules } = configure('13.0');
    expect(status).toBe(0);
    expect(rules).toContain('--compress-mode=size');
    expect(rules).toContain('QUERN_KERNELS_CUDA=13');
  });
  it('by CUDA 12.9 for all drivers of CUDA 12', () => {
    const { status, rules } = configure('12.9');
    expect(status).toBe(0);
    expect(rules).toContain('--compress-mode=speed');
    expect(rules).toContain('QUERN_KERNELS_CUDA=12');
  });
  it('not by an older CUDA', () => {
    const { status, message } = configure('12.6');
    expect(status).not.toBe(0);
    expect(message).toContain('is of CUDA 12.6: the kernels need CUDA 12.8 or later');
  });
});
