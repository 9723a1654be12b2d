// What the order of threads may not change, on the emulated GPU, once for each seed of that order: the kernels' tests (with cuda),
// the conformance kit, logits of transformers, 200 greedy tokens.
//   node packages/gpu/test/seeds.mjs cuda [seed]…     or metal; default: 1 2 3 4 5
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const [name, ...given] = process.argv.slice(2);
const gpus = { cuda: 'NVIDIA', metal: 'Apple' };
if (!Object.hasOwn(gpus, name)) throw new Error('usage: node packages/gpu/test/seeds.mjs cuda|metal [seed]…');
const seeds = given.length > 0 ? given : ['1', '2', '3', '4', '5'];

/** [name, arguments of Jest] */
const parts = [
  ['conformance', [`packages/backend-${name}/test/conformance`]],
  ['goldens', ['packages/models', '-t', `emulated GPU of ${gpus[name]}`]],
  ['200 greedy tokens', ['packages/runtime/test/model/stories', '-t', `emulated GPU: ${name}`]],
];

const jest = [
  '--experimental-vm-modules',
  '--no-warnings',
  'node_modules/jest/bin/jest.js',
  '--json',
  '--verbose=false',
];

/** [passed, failed] tests. */
function run(seed, patterns) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-seeds-'));
  const file = join(folder, 'results.json');
  const args = [...jest, `--outputFile=${file}`, '--maxWorkers=1', '--testTimeout=600000', ...patterns];
  const env = { ...process.env, QUERN_TEST: 'all', QUERN_EMULATED_SEED: seed };
  const { status } = spawnSync(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status === null || status > 1) return [0, 1];
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  rmSync(folder, { recursive: true });
  return [numPassedTests, numFailedTests + numRuntimeErrorTestSuites];
}

function kernelTests() {
  const { status } = spawnSync('sh', ['packages/gpu/native/test/run.sh', ...seeds], {
    cwd: root,
    stdio: 'inherit',
  });
  return status === 0;
}

process.exitCode = name !== 'cuda' || kernelTests() ? 0 : 1;
for (const seed of seeds)
  for (const [part, patterns] of parts) {
    const [passed, failed] = run(seed, patterns);
    console.log(`seed ${seed}, ${part}: ${passed} passed, ${failed} failed`);
    if (failed > 0 || passed === 0) process.exitCode = 1;
  }
