// What the device can do at most: copies, bf16 products, the link to the host, launches.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withDevice } from './device.mjs';
import { kit, machineOf, outputOf, readResults, small, writeResults } from './setting.mjs';
import { secondsOfOp } from './timing.mjs';
import { loadCopies } from './weights.mjs';

const parsed = (text) => (text === undefined ? null : JSON.parse(text.split('\n').at(-1)));

/** A program that hangs must not take the time of the parts. */
const timeout = 120_000;

/** probe.cu: without Quern. run.sh tells its path. */
const { QUERN_GPU_PROBE: probe } = process.env;
const ofProbe = () => (probe ? parsed(outputOf(probe, [], { timeout })) : null);

/** PyTorch's copy and matrix product, where there is one. */
const ofTorch = () =>
  parsed(outputOf('python3', [join(kit, 'parts/ceilings.py'), ...(small ? ['--small'] : [])], { timeout }));

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

async function ofBackend(backend) {
  return {
    copyBandwidth: await ownCopy(backend),
    bf16Rate: await ownProducts(backend),
    devicesBf16Rate: (await backend.measureCeilings()).rates.bf16,
    upload: await ownUpload(backend),
    launchSeconds: await ownLaunch(backend),
  };
}

/** The largest of several measurements, { by: value or undefined }, and whose it is. */
function best(all) {
  const [by, value] = Object.entries(all)
    .filter(([, value]) => value > 0)
    .sort(([, a], [, b]) => b - a)[0];
  return { value, by };
}

const bestCopy = ({ probe, torch, quern }) =>
  best({ probe: probe?.copyBandwidth, torch: torch?.copyBandwidth, quern: quern.copyBandwidth });

/** The probe's products are mma.sync: on Hopper about 63 % of what wgmma reaches. */
const bestBf16 = ({ probe, torch, quern }) =>
  best({
    'probe, mma.sync': probe?.mmaSyncRate,
    torch: torch?.bf16Rate,
    'quern, linear': quern.bf16Rate,
    'quern devices': quern.devicesBf16Rate,
  });

async function measureCeilings(backend) {
  const all = { probe: ofProbe(), torch: ofTorch(), quern: await ofBackend(backend) };
  const ceilings = { copyBandwidth: bestCopy(all), bf16Rate: bestBf16(all), ...all };
  writeResults('ceilings', { machine: machineOf(backend), ceilings });
  return ceilings;
}

const tera = (value) => `${(value / 1e12).toPrecision(3)} T`;

/** What the part `ceilings` left, or a measurement. */
export const ceilingsOf = async (backend) =>
  readResults('ceilings')?.ceilings ?? (await measureCeilings(backend));

export function showCeilings({ copyBandwidth, bf16Rate, probe, torch, quern }) {
  console.log(`copy bandwidth   ${tera(copyBandwidth.value)}B/s (${copyBandwidth.by})`);
  console.log(`bf16 products    ${tera(bf16Rate.value)}FLOP/s (${bf16Rate.by})`);
  console.log(
    `quern            add ${tera(quern.copyBandwidth)}B/s, linear bf16 ${tera(quern.bf16Rate)}FLOP/s, quern devices ${tera(quern.devicesBf16Rate)}FLOP/s, upload ${(quern.upload / 1e9).toFixed(2)} GB/s, ${(1e6 * quern.launchSeconds).toFixed(2)} µs a small op`,
  );
  if (torch) console.log(`torch            matmul bf16 ${tera(torch.bf16Rate)}FLOP/s`);
  if (probe) console.log(`probe            mma.sync bf16 ${tera(probe.mmaSyncRate)}FLOP/s`);
  if (probe)
    console.log(
      `link, launches   to the device ${(probe.hostToDevice / 1e9).toFixed(1)} GB/s, back ${(probe.deviceToHost / 1e9).toFixed(1)} GB/s; ${(1e6 * probe.launchSeconds).toFixed(2)} µs a launch, ${(1e6 * probe.graphLaunchSeconds).toFixed(2)} µs in a graph`,
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await withDevice(false, async (backend) => showCeilings(await measureCeilings(backend)));
