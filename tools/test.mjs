// `npm test`: lint, types, build, generated files, package boundaries, native tests and jest, then one line of counts.
// Needs nothing beforehand but Node, CMake and a compiler.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, nx, prepare, root, run } from './setup.mjs';

const node = (...args) => run(process.execPath, args);

function step(name, act) {
  const start = Date.now();
  console.log(`── ${name}`);
  act();
  console.log(`   ${((Date.now() - start) / 1000).toFixed(1)} s`);
}

/** Runs jest over all packages and gives its counts; a suite that cannot start counts as one failure. */
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
    '--testTimeout=120000', // a busy machine is no failure
  ];
  const { status } = run(process.execPath, [...args, ...process.argv.slice(2)], { mayFail: true });
  if (!existsSync(outputFile)) return { passed: 0, failed: 1, skipped: 0 };
  const results = JSON.parse(readFileSync(outputFile));
  rmSync(folder, { recursive: true });
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  const silent = status !== 0 && failed === 0 ? 1 : 0;
  return {
    passed: results.numPassedTests,
    failed: failed + silent,
    skipped: results.numPendingTests + results.numTodoTests,
  };
}

prepare();
step('lint', () => node('node_modules/@biomejs/biome/bin/biome', 'check', '.'));
step('package boundaries', () => node('tools/check-boundaries.mjs'));
step('build', build);
step('generated files', () => {
  node('tools/generate-native-ops.mjs', '--check');
  node('tools/generate-ops-doc.mjs', '--check');
  node('tools/generate-options-doc.mjs', '--check');
});
step('types', () => nx(['run-many', '-t', 'typecheck'], { quiet: true }));
step('native symbols', () => node('tools/check-native-symbols.mjs'));
step('native tests', () =>
  run('bash', [join(root, 'packages/backend-cpu/native/test/run.sh')], { quiet: true }),
);
step('native tests on emulated Arm', () => {
  const { stdout } = run('sh', [join(root, 'packages/backend-cpu/native/test/run-arm.sh')], { quiet: true });
  console.log(`   ${String(stdout).trim().split('\n').at(-1)}`);
});
step('native tests with sanitizers', () =>
  run('sh', [join(root, 'packages/backend-cpu/native/test/sanitize.sh'), 'address']),
);
let packed;
step('packed packages', () => {
  const { stdout, status } = run(process.execPath, ['tools/packed/test.mjs'], { mayFail: true, quiet: true });
  const lines = String(stdout).trim().split('\n');
  console.log(`   ${lines.join('\n')}`);
  const [, passed = 0, failed = 1] = /(\d+) passed, (\d+) failed/.exec(lines.at(-1)) ?? [];
  packed = { passed: Number(passed), failed: Math.max(Number(failed), status === 0 ? 0 : 1) };
});
let counts;
step('tests', () => {
  counts = jest();
});
const [passed, failed] = [counts.passed + packed.passed, counts.failed + packed.failed];
console.log(`${passed} passed, ${failed} failed, ${counts.skipped} skipped`);
process.exitCode = failed === 0 && counts.passed > 0 ? 0 : 1;
