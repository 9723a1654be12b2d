// Each case once per kernel that the environment can force, each in a process of its own: what the tables of choice are tuned by
// (gpu/ops/bf16-tiles.cc, product-rows.cc). QUERN_GPU_CHOICES: a pattern of alternatives. QUERN_GPU_CHOICE_CASES: a pattern of cases.
import { fileURLToPath } from 'node:url';
import { attentionName, productName, productOf, withAttention, withWeights } from './cases.mjs';
import { withDevice } from './device.mjs';
import { endingOf, errorText, runScript, sendToParent } from './processes.mjs';
import { machineOf, patience, saveUnfinished, secondsLeft, small, writeResults } from './setting.mjs';
import { secondsOfOp } from './timing.mjs';

const formats = small ? ['q4_k'] : ['bf16', 'q4_k'];
const matrices = small
  ? [[64, 256]]
  : [
      [4096, 4096],
      [14336, 4096],
      [4096, 14336],
      [1024, 4096],
    ];
const rowsOfProducts = small ? [1, 16, 160] : [1, 16, 32, 64, 96, 128, 256, 512, 2048];
const decodes = small
  ? [[1, 64]]
  : [
      [1, 1024],
      [1, 8192],
      [1, 32768],
      [16, 8192],
    ];

/** What an alternative may take: a product of a format with some rows, or attention. */
const isAttention = ({ kind }) => kind === 'attention';
const ofRows = (least, most, only) => (one) =>
  one.kind === 'product' && one.rows >= least && one.rows <= most && (!only || one.format === only);

const chosen = 'as chosen';
const forced = (name, value, takes) => ({ name: `${name}=${value}`, env: { [name]: `${value}` }, takes });
const tiles = [
  ...['warpgroups_128x256 1', 'warpgroups_128x256 2', 'warpgroups_128x128 1', 'warpgroups_128x128 2'],
  ...['warpgroups_128x128 4', '128x256 1', '128x256 2', '128x128 1', '128x128 2', '128x128 4', '64x64 1'],
  ...['64x64 2', '64x64 4', 'tiles'],
];
const alternatives = [
  { name: chosen, env: {}, takes: () => true },
  ...[0, 1, 2, 4, 8].map((parts) => forced('QUERN_CUDA_ROWS', parts, ofRows(9, 128))),
  ...tiles.map((tile) => forced('QUERN_CUDA_PRODUCT', tile, ofRows(65, 2048))),
  ...[4, 8, 16, 32, 64, 128].map((MiB) => forced('QUERN_CUDA_SLAB', 1024 * MiB, ofRows(256, 2048, 'q4_k'))),
  forced('QUERN_CUDA_ATTENTION', 'rows', isAttention),
  forced('QUERN_CUDA_DEPENDENT', 0, (one) => isAttention(one) || one.rows === 1),
];

const minSeconds = 3 * patience;
const wantedCases = new RegExp(process.env.QUERN_GPU_CHOICE_CASES ?? '');

/** Sends { name, seconds } of a case, or why there are none. */
async function report(name, act) {
  const found = { name };
  if (secondsLeft() < minSeconds) found.skipped = true;
  else
    try {
      found.seconds = await act();
    } catch (error) {
      found.failed = errorText(error);
    }
  sendToParent(found);
}

async function reportProducts(backend, format, shape, takes) {
  const rows = rowsOfProducts.filter(
    (T) => takes({ kind: 'product', format, rows: T }) && wantedCases.test(productName(format, shape, T)),
  );
  if (rows.length === 0) return;
  await withWeights(backend, format, shape, async (weights) => {
    for (const T of rows)
      await report(productName(format, shape, T), () =>
        secondsOfOp(backend, productOf(backend, weights, shape, T).record),
      );
  });
}

/** In a process of its own: most variables are read once. */
async function reportAll(backend, { takes }) {
  for (const format of formats)
    for (const shape of matrices) await reportProducts(backend, format, shape, takes);
  if (!takes({ kind: 'attention' })) return;
  for (const dtype of small ? ['f16'] : ['f16', 'int8'])
    for (const [sequences, depth] of decodes) {
      const shape = { sequences, rows: 1, depth };
      if (!wantedCases.test(attentionName(dtype, shape))) continue;
      await withAttention(backend, dtype, shape, ({ record }) =>
        report(attentionName(dtype, shape), () => secondsOfOp(backend, record)),
      );
    }
}

const self = fileURLToPath(import.meta.url);

/** What the process of one alternative found. */
async function measured({ name, env }) {
  const found = [];
  const { ended, text } = await runScript(self, [name], {
    env,
    seconds: Math.max(1, secondsLeft() - 1),
    silence: 20 * patience,
    onFound: (one) => found.push({ ...one, alternative: name }),
  });
  if (ended)
    found.push({
      name: 'all that follow',
      alternative: name,
      failed: `the process ${endingOf({ ended, text })}`,
    });
  return found;
}

/** The alternatives of each case, the fastest first. */
function tableOf(all) {
  const timed = all.filter(({ seconds }) => seconds).sort((a, b) => a.seconds - b.seconds);
  return [...new Set(all.map(({ name }) => name))].flatMap((name) => {
    const ways = timed
      .filter((one) => one.name === name)
      .map(({ alternative, seconds }) => ({ alternative, seconds }));
    if (ways.length === 0) return [];
    const asChosen = ways.find(({ alternative }) => alternative === chosen)?.seconds;
    return [{ name, best: ways[0].alternative, gain: asChosen && asChosen / ways[0].seconds, ways }];
  });
}

function show({ cases, absent, failures, skipped }) {
  for (const { name, gain, ways } of cases) {
    console.log(`${name}: the best is ${gain?.toFixed(2) ?? '?'} times as fast as the kernel chosen`);
    ways.forEach(({ alternative, seconds }, i) => {
      console.log(
        `${(1e6 * seconds).toFixed(1).padStart(12)} µs  ${i === 0 ? 'best' : '    '}  ${alternative}`,
      );
    });
  }
  for (const { name, alternative, failed } of failures)
    console.log(`FAILED ${name}, ${alternative}: ${failed}`);
  if (absent.length > 0) console.log(`this GPU does not have: ${absent.join('; ')}`);
  if (skipped.length > 0) console.log(`not measured, the time was up: ${skipped.join('; ')}`);
}

const isAbsent = ({ failed }) => /UNSUPPORTED.*this GPU has no such kernel/.test(failed ?? '');

const failures = (all) => all.filter((one) => one.failed && !isAbsent(one));

function resultsOf(machine, all, notStarted) {
  const late = all.filter(({ skipped }) => skipped).map(({ name, alternative }) => `${name}, ${alternative}`);
  return {
    machine,
    cases: tableOf(all),
    absent: [...new Set(all.filter(isAbsent).map(({ alternative }) => alternative))],
    failures: failures(all),
    problems: failures(all).map(({ name, alternative, failed }) => `${name}, ${alternative}: ${failed}`),
    skipped: [...late, ...notStarted],
  };
}

/** Measures all alternatives. This process has no backend meanwhile: it would share the device. */
async function measureAll() {
  let machine;
  await withDevice(false, (backend) => {
    machine = machineOf(backend); // also: rates are kept, which processes of alternatives then read
  });
  const pattern = new RegExp(process.env.QUERN_GPU_CHOICES ?? '');
  const wanted = alternatives.filter(({ name }) => name === chosen || pattern.test(name));
  const all = [];
  const notStarted = [];
  for (const one of wanted) {
    if (secondsLeft() < minSeconds) notStarted.push(one.name);
    else all.push(...(await measured(one)));
    saveUnfinished('choices', resultsOf(machine, all, notStarted));
  }
  return resultsOf(machine, all, notStarted);
}

const [, , alternative] = process.argv;
if (alternative) {
  const one = alternatives.find(({ name }) => name === alternative);
  await withDevice(false, (backend) => reportAll(backend, one));
  process.exit();
} else {
  const results = await measureAll();
  show(results);
  writeResults('choices', results);
}
