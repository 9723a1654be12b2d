// What the device can do at most: copies, reads, bf16 products, the link to the host, launches. `node ceilings.mjs probe`: by the probe alone.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withDevice } from './device.mjs';
import { endingOf, errorText, runProgram, runScript } from './processes.mjs';
import { kit, machineOf, readResults, saveUnfinished, secondsLeft, small, writeResults } from './setting.mjs';
import { secondsOfOp } from './timing.mjs';
import { runTorch } from './torch.mjs';
import { loadCopies } from './weights.mjs';

/** A program that hangs must not take the time of the parts. */
const maxSeconds = 30;
const seconds = () => Math.max(1, Math.min(maxSeconds, secondsLeft()));

const problems = [];

/** probe.cu: without Quern. A kit for the emulated device has none. */
async function ofProbe() {
  const path = join(kit, 'probe');
  if (!existsSync(path)) return null;
  let found = null;
  const onFound = (one) => {
    found = { ...found, ...one };
  };
  const { ended, text } = await runProgram(path, [], { seconds: seconds(), onFound });
  if (ended) problems.push(`probe: ${endingOf({ ended, text })}`);
  return found;
}

/** PyTorch's copy and matrix product, where there is one. */
async function ofTorch() {
  const known = readResults('torch')?.torch;
  if (known) return known;
  const { torch, message } = await runTorch(seconds(), ['--ceilings']);
  if (message) console.log(`PyTorch: ${message}`);
  return torch ?? null;
}

/** Bytes per second of `add`, which reads two arrays and writes one. */
async function ownCopy(backend) {
  const shape = small ? [4, 256] : [8192, 4096];
  const count = shape[0] * shape[1];
  const record = {
    prepare: (step) => step.input(new Float32Array(count).fill(1), shape),
    op: (_, x) => backend.add(x, x),
  };
  // add(x, x) reads one array twice: the second time from caches.
  return (2 * 4 * count) / (await secondsOfOp(backend, record));
}

/** Operations per second of `linear` with bf16 weights and as many rows as columns. */
async function ownProducts(backend) {
  const size = small ? 64 : 4096;
  const [w] = await loadCopies(backend, 'bf16', [size, size], 1);
  const record = {
    prepare: (step) => step.input(new Float32Array(size * size).fill(0.01), [size, size]),
    op: (_, x) => backend.linear(x, w),
  };
  const rate = (2 * size ** 3) / (await secondsOfOp(backend, record));
  w.dispose();
  return rate;
}

/** Bytes per second at which a weight in host memory gets to the device, repacking included. */
async function ownUpload(backend) {
  const shape = small ? [16, 64] : [16384, 8192];
  const bytes = new Uint8Array(2 * shape[0] * shape[1]);
  const from = performance.now();
  (await backend.loadWeight({ name: 'upload', shape, format: 'bf16', bytes })).dispose();
  return (1000 * bytes.length) / (performance.now() - from);
}

/** Seconds of an op that computes 32 numbers, in a captured plan. */
const ownLaunch = (backend) =>
  secondsOfOp(backend, {
    prepare: (step) => step.input(new Float32Array(32), [1, 32]),
    op: (_, x) => backend.scale(x, 2),
  });

/** [name, measurement], the riskiest last. */
const ofBackend = [
  ['launchSeconds', ownLaunch],
  ['copyBandwidth', ownCopy],
  ['upload', ownUpload],
  ['bf16Rate', ownProducts],
  ['devicesBf16Rate', async (backend) => (await backend.measureCeilings()).rates.bf16],
];

/** The largest of several measurements, { by: value or undefined }, and whose it is. NaN where there is none. */
function best(all) {
  const found = Object.entries(all).filter(([, value]) => value > 0);
  const [by, value] = found.sort(([, a], [, b]) => b - a)[0] ?? ['nothing', Number.NaN];
  return { value, by };
}

/** The probe's products are mma.sync: on Hopper about 63 % of what wgmma reaches. */
const ceilingsIn = ({ probe, torch, quern }) => ({
  copyBandwidth: best({
    probe: probe?.copyBandwidth,
    torch: torch?.copyBandwidth,
    quern: quern?.copyBandwidth,
  }),
  bf16Rate: best({
    'probe, mma.sync': probe?.mmaSyncRate,
    torch: torch?.bf16Rate,
    'quern, linear': quern?.bf16Rate,
    'quern devices': quern?.devicesBf16Rate,
  }),
  probe,
  torch,
  quern,
});

/** Each is saved as it is found; what `ceilings.mjs probe` found before is taken. */
async function measureCeilings(backend) {
  const all = {
    probe: readResults('ceilings')?.ceilings.probe ?? (await ofProbe()),
    torch: null,
    quern: null,
  };
  const saved = () => ({ machine: backend && machineOf(backend), ceilings: ceilingsIn(all), problems });
  saveUnfinished('ceilings', saved());
  if (backend) {
    all.torch = await ofTorch();
    all.quern = {};
    for (const [name, act] of ofBackend) {
      saveUnfinished('ceilings', saved());
      try {
        all.quern[name] = await act(backend);
      } catch (error) {
        problems.push(`ceilings, ${name}: ${errorText(error)}`);
      }
    }
  }
  writeResults('ceilings', saved());
  return saved().ceilings;
}

const tera = (value) => `${(value / 1e12).toPrecision(3)} T`;

const isWhole = (results) => results?.ceilings.quern && !results.unfinished;

/** What the part `ceilings` left or finds now, in a process of its own; with the machine. */
export async function ceilingsOf(seconds) {
  if (!isWhole(readResults('ceilings'))) {
    const { ended, text } = await runScript(fileURLToPath(import.meta.url), [], { seconds });
    if (ended && !isWhole(readResults('ceilings'))) console.log(`ceilings: ${endingOf({ ended, text })}`);
  }
  const { machine, ceilings } = readResults('ceilings') ?? { ceilings: ceilingsIn({}) };
  showCeilings(ceilings);
  return { machine, ceilings };
}

function showCeilings({ copyBandwidth, bf16Rate, probe, torch, quern }) {
  console.log(`copy bandwidth   ${tera(copyBandwidth.value)}B/s (${copyBandwidth.by})`);
  console.log(`bf16 products    ${tera(bf16Rate.value)}FLOP/s (${bf16Rate.by})`);
  for (const [by, found] of Object.entries({ quern, torch, probe }))
    for (const [name, value] of Object.entries(found ?? {}))
      if (typeof value === 'number') console.log(`${by.padEnd(16)} ${name} ${value.toPrecision(3)}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const show = async (backend) => showCeilings(await measureCeilings(backend));
  await (process.argv[2] === 'probe' ? show() : withDevice(false, show));
}
