// `npm test`: every check once, on the machine's best instruction set. `npm run test:all` (--all) adds every instruction
// set and seed, native tests, emulated Arm, sanitizers, the packed packages. Ends with a line of counts. Needs only Node,
// CMake and a compiler. Other arguments go to Jest: `npm test -- packages/core`.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { build, prepare, root, run } from './setup.mjs';

const all = process.argv.includes('--all');
const jestArguments = process.argv.slice(2).filter((argument) => argument !== '--all');
const nativeTest = (name) => join(root, 'packages/backend-cpu/native/test', name);

const node = (...args) => run(process.execPath, args);
const counts = { passed: 0, failed: 0, skipped: 0 };
/** What failed, in words: printed again at the end, since the tail of a log is what is kept of it. */
const failures = [];

function count({ passed, failed, skipped = 0 }) {
  counts.passed += passed;
  counts.failed += failed;
  counts.skipped += skipped;
}

/** Jest over all packages. A suite that cannot start counts as one failure. */
function jest() {
  const folder = mkdtempSync(join(tmpdir(), 'quern-test-'));
  const outputFile = join(folder, 'results.json');
  const args = [
    '--experimental-vm-modules',
    '--no-warnings',
    'node_modules/jest/bin/jest.js',
    '--json',
    `--outputFile=${outputFile}`,
    '--maxWorkers=2',
    '--testTimeout=120000', // busy machines are slow
  ];
  const env = { QUERN_TEST: all ? 'all' : 'quick' };
  const { status } = run(process.execPath, [...args, ...jestArguments], { mayFail: true, env });
  if (!existsSync(outputFile)) {
    failures.push(`Jest ended with ${status} and wrote no results`);
    return count({ passed: 0, failed: 1 });
  }
  const results = JSON.parse(readFileSync(outputFile));
  rmSync(folder, { recursive: true });
  if (all) printSlowest(results.testResults);
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  failures.push(...failedSuites(results.testResults));
  if (status !== 0 && failed === 0) failures.push(`Jest ended with ${status} though no test failed`);
  count({
    passed: results.numPassedTests,
    failed: status !== 0 && failed === 0 ? 1 : failed,
    skipped: results.numPendingTests + results.numTodoTests,
  });
}

/** The messages of suites that failed, each with the path of its file. */
function failedSuites(suites) {
  return suites
    .filter(({ status }) => status === 'failed')
    .map(({ name, message }) => `${relative(root, name)}\n${message}`);
}

/** The suites to look at when the whole takes too long. */
function printSlowest(suites) {
  const timed = suites.map(({ name, startTime, endTime }) => ({
    name: relative(root, name),
    seconds: (endTime - startTime) / 1000,
  }));
  console.log('\nSlowest suites, in seconds:');
  for (const { name, seconds } of timed.sort((a, b) => b.seconds - a.seconds).slice(0, 15))
    console.log(`${seconds.toFixed(1).padStart(8)}  ${name}`);
}

/** A program of tools/ that prints what failed, then a line of counts. */
function program(path) {
  const { stdout, stderr, status } = run(process.execPath, [path], { mayFail: true, quiet: true });
  const output = `${stdout}${stderr}`.trim();
  console.log(`   ${output.replaceAll('\n', '\n   ')}`);
  const [, passed = 0, failed = 1] = /(\d+) passed, (\d+) failed$/.exec(String(stdout).trim()) ?? [];
  if (status !== 0) failures.push(`${path} ended with ${status}\n${output}`);
  count({ passed: Number(passed), failed: Math.max(Number(failed), status === 0 ? 0 : 1) });
}

function emulatedArm() {
  const { stdout } = run('sh', [nativeTest('run-arm.sh')], { quiet: true });
  console.log(`   ${String(stdout).trim().split('\n').at(-1)}`);
}

/** nvcc compiles the kernels in another part. */
function emulatedGpu() {
  run('sh', [join(root, 'packages/gpu/native/test/run.sh')], { env: { ARCHITECTURES: '' } });
}

function generatedFiles() {
  for (const what of ['native-ops', 'native-formats', 'ops-doc', 'interfaces-doc', 'options-doc'])
    node(`tools/generate-${what}.mjs`, '--check');
  node('tools/gpu/metal-estimates.mjs', '--check');
  node('tools/gpu/kernel-usage.mjs', '--check');
}

/** [name, act, with --all alone, the value of QUERN_DRAW in whose runs it takes part; absent: all] */
const parts = [
  ['lint', () => node('node_modules/@biomejs/biome/bin/biome', 'check', '.')],
  ['links', () => node('tools/check-links.mjs')],
  ['package boundaries', () => node('tools/check-boundaries.mjs')],
  ['build', () => build({ declarations: all })],
  ['generated files', generatedFiles],
  ['types', () => node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.json')],
  ['examples', () => program('tools/examples.mjs')],
  ['native symbols', () => node('tools/check-native-symbols.mjs'), true],
  ['native tests', () => run('bash', [nativeTest('run.sh')], { quiet: true }), true],
  ['native tests on emulated Arm', emulatedArm, true, '0'],
  ['native tests with sanitizers', () => run('sh', [nativeTest('sanitize.sh'), 'address']), true, '1'],
  ['emulated GPU', emulatedGpu, true],
  ['packed packages', () => program('tools/packed/test.mjs'), true],
  ['tests', jest],
];

const seconds = {};

/** A failure of many lines: the first of them. */
function shortened(text, most = 60) {
  const lines = text.trim().split('\n');
  return [...lines.slice(0, most), ...(lines.length > most ? ['…'] : [])]
    .map((line) => `  ${line.slice(0, 500)}`)
    .join('\n');
}

function timed(name, act) {
  console.log(`── ${name}`);
  const start = Date.now();
  act();
  seconds[name] = ((Date.now() - start) / 1000).toFixed(1).padStart(8);
}

if (all) {
  process.env.QUERN_EMULATED_SEED ??= String(Date.now() % 1_000_000);
  process.env.QUERN_DRAW ??= String(Number(process.env.QUERN_EMULATED_SEED) % 2);
  const { QUERN_EMULATED_SEED: seed, QUERN_DRAW: draw } = process.env;
  console.log(
    `order of threads on emulated GPUs: QUERN_EMULATED_SEED=${seed}; tested in full: QUERN_DRAW=${draw}`,
  );
}
timed('packages', prepare);
for (const [name, act, exhaustive, draw = process.env.QUERN_DRAW] of parts)
  if ((all || !exhaustive) && draw === process.env.QUERN_DRAW) timed(name, act);

console.log('\nSeconds:');
for (const [name, time] of Object.entries(seconds)) console.log(`${time}  ${name}`);
if (failures.length > 0) console.log('\nFailed:');
for (const failure of failures) console.log(shortened(failure));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
