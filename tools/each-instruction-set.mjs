// Tests on every instruction set of backend-cpu: the native kernel tests and Jest (QUERN_TEST: quick), once per set, and once
// beside a busy loop on every core. Sets that this machine lacks are emulated, in an addon of their own
// (packages/backend-cpu/build/emulated); the machine needs x86-64 with AVX2.
//   node tools/each-instruction-set.mjs [--no-kernels] [--no-jest] [SET | busy]… [-- JEST'S ARGUMENTS]
//   node tools/each-instruction-set.mjs vnni amx -- packages/server
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { jest } from './jest.mjs';
import { build, prepare, root, run } from './setup.mjs';

const known = ['amx', 'avx512-bf16', 'avx512-vnni', 'avx512', 'avx2', 'scalar'];
const busy = 'busy';
const package_ = join(root, 'packages/backend-cpu');
const emulated = join(package_, 'build/emulated');

function endWith(message) {
  console.error(`each-instruction-set: ${message}`);
  process.exit(2);
}

/** 'vnni' → 'avx512-vnni'. */
const named = (word) =>
  [...known, busy].find((name) => name === word || name.endsWith(`-${word}`)) ??
  endWith(`there is no instruction set '${word}': there are ${[...known, busy].join(', ')}`);

function readArguments() {
  const words = process.argv.slice(2);
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const { values, positionals } = parseArgs({
    args: words.slice(0, end),
    options: { kernels: { type: 'boolean', default: true }, jest: { type: 'boolean', default: true } },
    allowNegative: true,
    allowPositionals: true,
  });
  const sets = positionals.length > 0 ? positionals.map(named) : [...known, busy];
  return { ...values, sets, jestArguments: words.slice(end + 1) };
}

/** Instruction sets of the addon that everybody uses. */
async function nativeSets() {
  const { createBackend } = await import('../packages/backend-cpu/dist/index.js');
  const has = async (isa) => {
    try {
      (await createBackend({ isa, threads: 1 })).dispose();
      return true;
    } catch (error) {
      if (error.code === 'UNSUPPORTED') return false;
      throw error;
    }
  };
  const found = [];
  for (const isa of known) if (await has(isa)) found.push(isa);
  return found;
}

/** Builds the addon with emulated instructions, and its tests; tests the emulation itself. */
function buildEmulated() {
  console.log('building the addon with emulated instructions: minutes the first time …');
  const options = ['EMULATE_AVX512=ON', 'NATIVE_TESTS=ON', 'UNITY=OFF'].map((option) => `-DQUERN_${option}`);
  run('cmake', ['-S', package_, '-B', emulated, ...options], { quiet: true });
  const parallel = String(availableParallelism());
  run('cmake', ['--build', emulated, '--target', 'backend_cpu', 'native-tests', '--parallel', parallel], {
    quiet: true,
  });
  for (const what of ['emulated', 'real']) {
    const { stdout } = run(join(emulated, `avx512-${what}-test`), [], { quiet: true });
    console.log(`intrinsics, ${what}: ${String(stdout).trim().split('\n').at(-1)}`);
  }
}

const count = (output, word, set) => output.split(`${word} ${set} `).length - 1;

/** Counts of the kernel tests of a set. run.sh tests all sets of this machine: once for all of them. */
function kernelTests() {
  let ofMachine;
  const native = () => {
    ofMachine ??= run('sh', [join(package_, 'native/test/run.sh')], { quiet: true, mayFail: true });
    return ofMachine;
  };
  const own = (set) =>
    run('sh', ['-c', `cd ${package_}/native/test && ${emulated}/kernels-test ${set}`], {
      quiet: true,
      mayFail: true,
    });
  return (set, isEmulated) => {
    const { stdout, stderr } = isEmulated ? own(set) : native();
    const [passed, failed] = ['PASS', 'FAIL'].map((word) => count(String(stdout), word, set));
    if (failed > 0 || passed === 0) console.log(`${stdout}${stderr}`.replace(/^PASS.*\n/gm, ''));
    return { passed, failed: failed + Number(passed === 0), skipped: 0 };
  };
}

/** A busy loop on every core until the returned function is called, or this process ends. */
function startLoops() {
  const loop = 'for (const parent = process.ppid; process.ppid === parent;) for (let i = 0; i < 1e8; i++);';
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', loop], { stdio: 'ignore' }),
  );
  return () => {
    for (const each of loops) each.kill('SIGKILL');
  };
}

function jestOf(set, isEmulated, args) {
  const env = { QUERN_TEST: process.env.QUERN_TEST ?? 'quick', QUERN_BUILT: 'true' };
  if (set !== busy) env.QUERN_CPU_ISA = set;
  if (isEmulated) env.QUERN_CPU_BINARY = join(emulated, 'backend_cpu.node');
  const stop = set === busy ? startLoops() : () => {};
  try {
    return jest(args, env);
  } finally {
    stop();
  }
}

const rows = [];
let failed = 0;

/** Runs `act`, prints its counts and adds a row of the table. */
function timed(set, how, what, act) {
  console.log(`── ${set}, ${how}: ${what}`);
  const start = Date.now();
  const { counts, failures = [], flaky = [] } = act();
  const seconds = ((Date.now() - start) / 1000).toFixed(0);
  for (const text of failures) console.log(`Failed twice, with ${set}: ${text}`);
  for (const text of flaky) console.log(`Flaky, with ${set}: ${text}`);
  rows.push({ set, how, what, ...counts, flaky: flaky.length, seconds });
  failed += counts.failed;
}

function printTable() {
  const columns = ['set', 'how', 'what', 'passed', 'failed', 'skipped', 'flaky', 'seconds'];
  console.log(`\n| ${columns.join(' | ')} |\n|${columns.map(() => ' --- |').join('')}`);
  for (const row of rows) console.log(`| ${columns.map((column) => row[column]).join(' | ')} |`);
}

const options = readArguments();
prepare();
build();
const native = await nativeSets();
const isEmulated = (set) => set !== busy && !native.includes(set);
if (options.sets.some(isEmulated)) {
  if (process.arch !== 'x64' || !native.includes('avx2')) endWith('emulation needs x86-64 with AVX2');
  buildEmulated();
}
const kernels = kernelTests();
for (const set of options.sets) {
  const how = set === busy ? native[0] : isEmulated(set) ? 'emulated' : 'native';
  if (options.kernels && set !== busy)
    timed(set, how, 'kernels', () => ({ counts: kernels(set, isEmulated(set)) }));
  if (options.jest)
    timed(set, how, ['Jest', ...options.jestArguments].join(' '), () =>
      jestOf(set, isEmulated(set), options.jestArguments),
    );
}
printTable();
process.exitCode = failed > 0 ? 1 : 0;
