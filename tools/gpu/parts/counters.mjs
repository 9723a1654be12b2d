// Counters of the hardware for eight kernels, by Nsight Compute: ncu.csv in results.tar. `node counters.mjs own`: the ops that it watches.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { attentionName, floats, productName, productOf, withAttention, withWeights } from './cases.mjs';
import { withDevice } from './device.mjs';
import { endingOf, runScript, sendToParent } from './processes.mjs';
import { detailPath, outputOf, secondsLeft, small, writeResults } from './setting.mjs';
import { loadOnes } from './weights.mjs';

async function run(backend, record) {
  const step = backend.step();
  record.op(step, record.prepare?.(step), 0);
  await step.run();
  step.dispose();
}

const products = small
  ? [['q4_k', [64, 256], 1]]
  : [
      ['bf16', [14336, 4096], 1],
      ['q4_k', [14336, 4096], 1],
      ['q4_k', [14336, 4096], 16],
      ['bf16', [14336, 4096], 64],
      ['bf16', [14336, 4096], 2048],
    ];
const attentions = small
  ? [{ sequences: 1, rows: 1, depth: 64 }]
  : [
      { sequences: 1, rows: 1, depth: 8192 },
      { sequences: 1, rows: 2048, depth: 0 },
    ];

async function runNorms(backend) {
  const [T, D] = small ? [1, 256] : [2048, 4096];
  const w = await loadOnes(backend, D);
  await run(backend, {
    prepare: (step) => step.input(floats(T * D), [T, D]),
    op: (_, x) => backend.swiglu(backend.rmsNorm(x, w, { eps: 1e-5 }), x),
  });
}

/** [name, run]: one of each kernel is watched. */
const works = [
  ...products.map(([format, shape, rows]) => [
    productName(format, shape, rows),
    (backend) =>
      withWeights(backend, format, shape, (weights) =>
        run(backend, productOf(backend, weights, shape, rows).record),
      ),
  ]),
  ...attentions.map((shape) => [
    attentionName('f16', shape),
    (backend) => withAttention(backend, 'f16', shape, ({ record }) => run(backend, record)),
  ]),
  ['rmsNorm, swiglu', runNorms],
];

/** ncu writes what it found when its program ends: seconds for that. */
const secondsOfReport = 4;

/** Runs works while there is time. */
async function runAll(backend) {
  for (const [name, act] of works)
    if (secondsLeft() < secondsOfReport + 2) sendToParent({ skipped: name });
    else await act(backend);
}

const kernels = 'regex:^(linear_|product_bf16|attention_|add_rms|rms_norm|swiglu)';
const sections = ['SpeedOfLight', 'MemoryWorkloadAnalysis', 'WarpStateStats', 'LaunchStats', 'Occupancy'];

async function runPart() {
  const version = outputOf('ncu', ['--version'], { timeout: 10_000 });
  if (version === undefined) {
    console.log('skipped: ncu is not there');
    return writeResults('counters', { counters: null, missing: ['ncu'] });
  }
  const log = detailPath('ncu.csv');
  const watched = [
    '--clock-control',
    'none',
    '--csv',
    '--page',
    'details',
    '--log-file',
    log,
    '--kernel-name',
    kernels,
  ];
  const skipped = [];
  const { ended, text } = await runScript(fileURLToPath(import.meta.url), ['own'], {
    onFound: (found) => skipped.push(found.skipped),
    env: { QUERN_CUDA_RATES: 'table' }, // kernels that measure are not watched
    wrapper: ['ncu', ...watched, ...sections.flatMap((name) => ['--section', name])],
    seconds: Math.max(1, secondsLeft() - 1),
  });
  const report = existsSync(log) ? readFileSync(log, 'utf8') : '';
  const counters = countersIn(report);
  for (const { kernel, ...values } of counters) console.log(`${kernel}: ${Object.values(values).join(', ')}`);
  const errors = [...new Set(`${report}\n${text}`.match(/^==ERROR==.*/gm))];
  const problems = errors.map((line) => `ncu: ${line.slice(0, 300)}`);
  if (ended && problems.length === 0) problems.push(`ncu: ${endingOf({ ended, text })}`);
  if (!ended && counters.length === 0) problems.push('ncu: no counters of any kernel');
  writeResults('counters', { counters, skipped, problems });
}

/** The cells of a line of CSV whose cells are quoted. */
const cellsOf = (line) =>
  [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, cell]) => cell.replaceAll('""', '"'));

const shown = {
  Duration: 'time',
  'Memory Throughput': 'memory',
  'DRAM Throughput': 'device memory',
  'Compute (SM) Throughput': 'processors',
  'Achieved Occupancy': 'warps',
  'Registers Per Thread': 'registers',
};

/** { kernel, time, memory, … } of each launch. */
function countersIn(text) {
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('"'))
    .map(cellsOf);
  const head = lines.shift() ?? [];
  const at = (name) => head.indexOf(name);
  const launches = new Map();
  for (const cells of lines) {
    const name = shown[cells[at('Metric Name')]];
    if (!name) continue;
    const launch = launches.get(cells[at('ID')]) ?? { kernel: cells[at('Kernel Name')] };
    launch[name] ??= `${cells[at('Metric Value')]} ${cells[at('Metric Unit')]}`;
    launches.set(cells[at('ID')], launch);
  }
  return [...launches.values()];
}

if (process.argv[2] === 'own') {
  await withDevice(true, runAll);
  process.exit();
} else await runPart();
