// A processor without AVX, emulated by QEMU.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Absent } from './network.mjs';
import { run, work } from './work.mjs';

const emulator = 'qemu-x86_64-static';

/** What its kernel would say: QEMU shows the programs this machine's file. */
const cpuinfo = `processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel Core i7 9xx (Nehalem Class Core i7)
flags\t\t: fpu tsc cx8 cmov mmx fxsr sse sse2 ht syscall nx lm constant_tsc pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm

`;

/**
 * `node`: Node on this processor. `env`: for a program that starts Node again; QEMU emulates a single process.
 * @throws Absent without the emulator
 */
export async function oldProcessor() {
  const found = await run(emulator, ['--version']).catch(() => undefined);
  if (!found) throw new Absent(`no ${emulator} (apt-get install qemu-user-static)`);
  const folder = join(work, 'old-processor');
  mkdirSync(join(folder, 'proc'), { recursive: true });
  const [node, preload] = ['node', 'preload.cjs'].map((name) => join(folder, name));
  writeFileSync(join(folder, 'proc/cpuinfo'), cpuinfo); // found there, below -L, first
  const command = [emulator, '-cpu', 'Nehalem', '-L', folder, process.execPath];
  writeFileSync(node, `#!/bin/sh\nexec ${command.map((word) => `'${word}'`).join(' ')} "$@"\n`);
  chmodSync(node, 0o755);
  writeFileSync(preload, `process.execPath = ${JSON.stringify(node)};\n`);
  return { node, env: { NODE_OPTIONS: `--require ${preload}` } };
}
