// `npm test`: every check once, on the machine's best instruction set. `npm run test:all` (--all) adds every instruction
// set and seed, native tests, emulated Arm, sanitizers, the packed packages. Ends with a line of counts. Needs only Node,
// CMake and a compiler. Other arguments go to Jest: `npm test -- packages/core`.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sliceCount } from './installs/slices.mjs';
import { jest, printSlowest } from './jest.mjs';
import { add, leave, nothing, startSide, timed } from './lanes.mjs';
import { build, nx, prepare, root, run as start } from './setup.mjs';

const all = process.argv.includes('--all');
const jestArguments = process.argv.slice(2).filter((argument) => argument !== '--all');
const nativeTest = (name) => join(root, 'packages/backend-cpu/native/test', name);

/** Runs a command. @throws Error with the end of its output, if there is any here */
function run(command, args, options) {
  const result = start(command, args, { ...options, mayFail: true });
  if (result.status === 0 || options?.mayFail) return result;
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}`.trim();
  if (output !== '') console.log(output);
  const end = output.split('\n').slice(-40).join('\n');
  throw new Error(`${[command, ...args].join(' ')} ended with ${result.status}\n${end}`);
}

const node = (...args) => run(process.execPath, args);
/** Failures are in words, and printed again at the end: the tail of a log is what is kept of it. */
const found = nothing();
const count = (counts) => add(found, { ...nothing(), counts });

function tests() {
  const result = jest(jestArguments, { QUERN_TEST: all ? 'all' : 'quick', QUERN_BUILT: 'true' });
  if (all) printSlowest(result.suites);
  add(found, { ...nothing(), ...result });
}

/** Runs a program of tools/ that prints what failed, then a line of counts. */
function once(path, args) {
  const { stdout, stderr, status } = run(process.execPath, [path, ...args], { mayFail: true, quiet: true });
  const output = `${stdout}${stderr}`.trim();
  console.log(`   ${output.replaceAll('\n', '\n   ')}`);
  const line = /(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(String(stdout).trim()) ?? [];
  const [, passed = 0, failed = 1, skipped = 0] = line;
  const failures = Math.max(Number(failed), status === 0 ? 0 : 1);
  return {
    counts: { passed: Number(passed), failed: failures, skipped: Number(skipped) },
    message: `${[path, ...args].join(' ')} ended with ${status}\n${output}`,
  };
}

/** A program that fails runs once more. */
function program(path, ...args) {
  const first = once(path, args);
  const last = first.counts.failed > 0 ? once(path, args) : first;
  if (last.counts.failed > 0) found.failures.push(last.message);
  else if (last !== first) found.flaky.push(first.message);
  count(last.counts);
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
  for (const what of [
    'ops',
    'native-ops',
    'native-formats',
    'ops-doc',
    'interfaces-doc',
    'options-doc',
    'packages-doc',
    'licences-doc',
  ])
    node(`tools/generate-${what}.mjs`, '--check');
  node('tools/platforms.mjs', '--table', '--check');
  node('tools/gpu/metal-estimates.mjs', '--check');
  node('tools/gpu/kernel-usage.mjs', '--check');
}

/**
 * Cached by nx: 10 s where a package changed. Without the tasks it depends on: nx would restore every dist from its cache
 * while tests read them, and the build has just run.
 */
function apiReports() {
  const check = ['run', 'quern-monorepo:api-check', '--excludeTaskDependencies'];
  const { status, stdout, stderr } = nx(check, { quiet: true, mayFail: true });
  if (status !== 0) throw new Error(`the API reports differ\n${stdout}${stderr}`);
  node('tools/check-semver.mjs');
}

/** A slice of `npm run installs`, whose cases need Linux on x64: package managers and runtimes are fetched for it. */
function installs() {
  if (process.platform === 'linux' && process.arch === 'x64')
    program('tools/installs.mjs', '--slice', process.env.QUERN_INSTALLS_SLICE);
  else console.log('   skipped: it needs Linux on x64');
}

/** Tests of tools: node:test counts them in its last lines. */
function toolTests() {
  const files = ['tools/release/test', 'tools/installs/test'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.test.mjs'))
      .map((file) => `${folder}/${file}`),
  );
  const args = ['--test', '--test-reporter=tap', ...files];
  const { stdout } = run(process.execPath, args, { quiet: true });
  count({ passed: Number(/# pass (\d+)/.exec(stdout)[1]) });
}

/** [name, act, with --all alone, the value of QUERN_DRAW in whose runs it takes part; absent: all] */
const sideParts = [
  ['lint', () => node('node_modules/@biomejs/biome/bin/biome', 'check', '.')],
  ['links', () => node('tools/check-links.mjs')],
  ['package boundaries', () => node('tools/check-boundaries.mjs')],
  ['generated files', generatedFiles],
  ['files per op', () => node('tools/count-op-files.mjs')],
  ['tools', toolTests],
  ['API reports', apiReports],
  ['types', () => node('node_modules/typescript-7/bin/tsc', '-p', 'tsconfig.json')],
  ['examples', () => program('tools/examples.mjs')],
  ['packed packages', () => program('tools/packed/test.mjs'), true],
  ['ways to install', installs, true],
];
const mainParts = [
  ['native symbols', () => node('tools/check-native-symbols.mjs'), true],
  ['native tests', () => run('bash', [nativeTest('run.sh')], { quiet: true }), true],
  ['native tests on emulated Arm', emulatedArm, true, '0'],
  ['native tests with sanitizers', () => run('sh', [nativeTest('sanitize.sh'), 'address']), true, '1'],
  ['emulated GPU', emulatedGpu, true],
  ['tests', tests],
];

function runParts(parts) {
  for (const [name, act, exhaustive, draw = process.env.QUERN_DRAW] of parts)
    if ((all || !exhaustive) && draw === process.env.QUERN_DRAW) timed(found, name, act);
}

/** A failure of many lines: the first of them. */
function shortened(text, most = 60) {
  const lines = text.trim().split('\n');
  return [...lines.slice(0, most), ...(lines.length > most ? ['…'] : [])]
    .map((line) => `  ${line.slice(0, 500)}`)
    .join('\n');
}

function setDraw() {
  process.env.QUERN_EMULATED_SEED ??= String(Date.now() % 1_000_000);
  process.env.QUERN_DRAW ??= String(Number(process.env.QUERN_EMULATED_SEED) % 2);
  process.env.QUERN_INSTALLS_SLICE ??= String(
    Math.floor(Number(process.env.QUERN_EMULATED_SEED) / 2) % sliceCount,
  );
  const { QUERN_EMULATED_SEED: seed, QUERN_DRAW: draw, QUERN_INSTALLS_SLICE: slice } = process.env;
  console.log(
    `order of threads on emulated GPUs: QUERN_EMULATED_SEED=${seed}; tested in full: QUERN_DRAW=${draw}; ways to install: QUERN_INSTALLS_SLICE=${slice}`,
  );
}

function printAll(start) {
  console.log('\nSeconds, and of processor time:');
  for (const [name, both] of Object.entries(found.times))
    console.log(`${both.map((time) => time.toFixed(1).padStart(8)).join('')}  ${name}`);
  console.log(`${((Date.now() - start) / 1000).toFixed(1).padStart(8)}          all, in two lanes`);
  if (found.flaky.length > 0) console.log('\nFlaky (failed, and passed when run again):');
  for (const message of found.flaky) console.log(shortened(message));
  if (found.failures.length > 0) console.log('\nFailed:');
  for (const failure of found.failures) console.log(shortened(failure));
  const { passed, failed, skipped } = found.counts;
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

async function runBothLanes() {
  const start = Date.now();
  if (all) setDraw();
  timed(found, 'packages', prepare);
  timed(found, 'build', () => build({ whole: all }));
  const side = startSide(fileURLToPath(import.meta.url), process.argv.slice(2));
  runParts(mainParts);
  add(found, await side());
  printAll(start);
}

if (process.env.QUERN_LANE_RESULT === undefined) await runBothLanes();
else {
  runParts(sideParts);
  leave(found);
}
