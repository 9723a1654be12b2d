// Jest over all packages for tools/test.mjs. What fails runs once more, alone: a suite that passes then is reported as flaky.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root, run } from './setup.mjs';

/** Modules of finished suites stay in a worker's memory: near its limit, collecting garbage takes longer than the tests. */
const workers = ['--maxWorkers=2', '--workerIdleMemoryLimit=800MB'];

/** Workers inherit them. Larger semi-spaces: fewer collections; 1 to 12 % less processor time (docs/performance.md). */
const nodeFlags = ['--experimental-vm-modules', '--no-warnings', '--max-semi-space-size=64'];

const path = ({ name }) => relative(root, name);
const hasFailed = ({ status }) => status === 'failed';
/** A suite and the messages of its tests that failed. */
const told = (suite) => `${path(suite)}\n${suite.message}`;

/** One run: its exit code, and its results if it wrote any. */
function once(args, env) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-test-'));
  const outputFile = join(folder, 'results.json');
  const jest = ['node_modules/jest/bin/jest.js', '--json', `--outputFile=${outputFile}`];
  const { status } = run(process.execPath, [...nodeFlags, ...jest, ...args], { mayFail: true, env });
  const results = existsSync(outputFile) ? JSON.parse(readFileSync(outputFile)) : undefined;
  rmSync(folder, { recursive: true });
  return { status, results };
}

/** The counts of a run whose failed suites were replaced by their second run. */
function countsOf(first, second) {
  const again = second?.testResults ?? [];
  const suites = first.testResults.map((suite) => again.find(({ name }) => name === suite.name) ?? suite);
  const tests = suites.flatMap(({ assertionResults }) => assertionResults);
  const number = (...statuses) => tests.filter(({ status }) => statuses.includes(status)).length;
  const broken = suites.filter((suite) => hasFailed(suite) && suite.assertionResults.length === 0);
  return {
    suites,
    counts: {
      passed: number('passed'),
      failed: number('failed') + broken.length,
      skipped: number('pending', 'todo', 'skipped', 'disabled'),
    },
  };
}

/**
 * Runs Jest with `args`. Returns the counts, the suites of the first run, and messages: of suites that failed twice
 * (`failures`) and of those that passed the second time (`flaky`).
 */
export function jest(args, env) {
  const first = once([...workers, ...args], env);
  if (first.results === undefined) return noResults(`Jest ended with ${first.status} and wrote no results`);
  const failed = first.results.testResults.filter(hasFailed);
  const second =
    failed.length > 0
      ? once(['--runInBand', '--runTestsByPath', ...failed.map(({ name }) => name)], env)
      : {};
  const { suites, counts } = countsOf(first.results, second.results);
  const failures = suites.filter(hasFailed).map(told);
  const flaky = failed.filter(({ name }) => !suites.some((suite) => suite.name === name && hasFailed(suite)));
  const unexplained = first.status !== 0 && failed.length === 0;
  if (unexplained) failures.push(`Jest ended with ${first.status} though no test failed`);
  return {
    counts: { ...counts, failed: counts.failed + Number(unexplained) },
    suites: first.results.testResults,
    failures,
    flaky: flaky.map(told),
  };
}

const noResults = (failure) => ({
  counts: { passed: 0, failed: 1, skipped: 0 },
  suites: [],
  failures: [failure],
  flaky: [],
});

/** The suites to look at when the whole takes too long. */
export function printSlowest(suites) {
  const timed = suites.map((suite) => ({
    name: path(suite),
    seconds: (suite.endTime - suite.startTime) / 1000,
  }));
  console.log('\nSlowest suites, in seconds:');
  for (const { name, seconds } of timed.sort((a, b) => b.seconds - a.seconds).slice(0, 25))
    console.log(`${seconds.toFixed(1).padStart(8)}  ${name}`);
}
