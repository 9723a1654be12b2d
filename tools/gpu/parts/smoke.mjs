// Each family of kernels once, in a process of its own, beside backend-cpu. A family that fails climbs a ladder of switches; those that help hold for all
// parts of the same command. QUERN_GPU_FAMILIES: a pattern of families.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBackend as openCpu } from '@quern/backend-cpu';
import { knownCodecs, runConformance } from '@quern/conformance';
import { contiguousKvCache, inputBatch } from '@quern/core';
import { loadModel } from '@quern/runtime';
import { floats } from './cases.mjs';
import { createDriver, owning, withDevice } from './device.mjs';
import { endingOf, errorText, runScript, sendToParent } from './processes.mjs';
import { kit, machineOf, patience, saveUnfinished, secondsLeft, small, writeResults } from './setting.mjs';
import { loadCopies, loadOnes } from './weights.mjs';

/** Products and sums of bf16 beside those of floats. */
const tolerance = 0.01;

/** The largest difference of two arrays as a share of the largest value. */
function distance(got, want) {
  if (got.length !== want.length) throw new Error(`${got.length} values instead of ${want.length}`);
  const largest = want.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (!(largest > 0)) throw new Error('backend-cpu has no value but zero: nothing is compared');
  return want.reduce((most, value, i) => {
    const apart = Math.abs(got[i] - value) / largest;
    return Math.max(most, Number.isNaN(apart) ? Number.POSITIVE_INFINITY : apart);
  }, 0);
}

const within = (apart, what = '') => ({
  passed: apart <= tolerance,
  message: `${what}${(100 * apart).toFixed(3)} % from backend-cpu`,
});
const worst = (all) => all.find(({ passed }) => !passed) ?? all.at(-1);

async function valuesOf(backend, record) {
  const step = backend.step();
  const values = await step.read(await record(backend, step));
  step.dispose();
  return Float32Array.from(values, Number);
}

/** `record(backend, step)` on both backends. */
const compared = async (device, cpu, record, what) =>
  within(distance(await valuesOf(device, record), await valuesOf(cpu, record)), what);

const shapeOfProducts = small ? [64, 256] : [512, 1024];

/** Products of a format with these numbers of rows. */
const products =
  (format, rows, shape = shapeOfProducts) =>
  async (device, cpu) => {
    const weights = new Map();
    for (const backend of [device, cpu])
      weights.set(backend, (await loadCopies(backend, format, shape, 1))[0]);
    const results = [];
    for (const T of rows) {
      const record = (backend, step) =>
        backend.linear(step.input(floats(T * shape[1]), [T, shape[1]]), weights.get(backend));
      results.push(await compared(device, cpu, record, `${format} × ${T}: `));
    }
    return worst(results);
  };

const heads = small ? { heads: 4, kvHeads: 2, headDim: 32 } : { heads: 32, kvHeads: 8, headDim: 128 };
const ropeOptions = { theta: 5e5, layout: 'halves' };

/** Attention of `rows` tokens after `depth`, all of them rotated and appended in steps before. */
async function attended(backend, { rows, depth, dtype }) {
  const { heads: H, kvHeads, headDim: d } = heads;
  const length = depth + rows;
  const config = { heads: H, kvHeads, headDim: d, scale: d ** -0.5, causal: true, bf16: true };
  const shape = { layers: 1, kvHeads, headDim: d, dtype, context: length, sequences: 1 };
  return owning(contiguousKvCache(backend, shape), async (cache) => {
    const sequence = cache.sequence();
    const batchOf = (step, count) => inputBatch(step, cache.describe([{ sequence, rows: count }]));
    const keys = (step, phase) =>
      step.input(
        floats(length * kvHeads * d).map((value, i) => value + 0.1 * ((i + phase) % 7)),
        [length, kvHeads, d],
      );
    sequence.append(length);
    const filling = backend.step();
    const all = batchOf(filling, length);
    const k = backend.rope(keys(filling, 0), all.positions, ropeOptions);
    backend.kvAppend(cache.layer(0), k, keys(filling, 3), all.slots);
    await filling.run();
    filling.dispose();
    return valuesOf(backend, (_, step) => {
      const batch = batchOf(step, rows);
      const q = backend.rope(step.input(floats(rows * H * d), [rows, H, d]), batch.positions, ropeOptions);
      return backend.attention(q, cache.layer(0), batch, config);
    });
  });
}

const attention = (shape) => async (device, cpu) =>
  within(distance(await attended(device, shape), await attended(cpu, shape)));

/** Norms, and what is computed per element; with the fused ops of a backend. */
async function norms(device, cpu) {
  const [T, D] = small ? [3, 256] : [5, 4096];
  const ones = new Map();
  for (const backend of [device, cpu]) ones.set(backend, await loadOnes(backend, D));
  const record = (backend, step) => {
    const x = step.input(floats(T * D), [T, D]);
    const sum = backend.add(x, backend.rmsNorm(x, ones.get(backend), { eps: 1e-5 }));
    return backend.softmax(backend.swiglu(sum, backend.rmsNorm(sum, ones.get(backend), { eps: 1e-5 })));
  };
  return compared(device, cpu, record);
}

/** The largest logits, and a draw among them. */
async function choices(device, cpu) {
  const [S, V, k] = [2, small ? 9000 : 151936, 40];
  const logits = Float32Array.from({ length: S * V }, (_, i) => 8 * Math.sin(i * 12.9898) + (i % 977) / 977);
  const record = (backend, step) => backend.topK(step.input(logits, [S, V]), k).indices;
  const top = await valuesOf(cpu, record);
  const found = await valuesOf(device, record);
  if (distance(found, top) > 0) return { passed: false, message: 'topK has other places than backend-cpu' };
  const drawn = await valuesOf(device, (backend, step) => {
    const settings = step.input(Float32Array.of(0.8, k, 0.95, Math.log(0.05), 0.8, k, 1, -100), [S, 4]);
    const random = step.input(Int32Array.of(1, 7919, 2, 104729), [S, 2]);
    return backend.sample(step.input(logits, [S, V]), settings, random, step.input(Int32Array.of(0, 1)));
  });
  const best = await valuesOf(device, (backend, step) => backend.argmax(step.input(logits, [S, V])));
  const inTop = drawn.every((token, s) => top.subarray(s * k, (s + 1) * k).includes(token));
  return {
    passed: inTop && best.every((token, s) => token === top[s * k]),
    message: `drew ${drawn.join(', ')}${inTop ? '' : ', which are not among the largest logits'}; the largest are ${best.join(', ')}`,
  };
}

/** Ops that each need the one before. */
const recordLine = (w) => (backend, step) => {
  const D = w.get(backend).shape[0];
  let x = step.input(floats(D), [1, D]);
  for (let i = 0; i < 24; i++)
    x = backend.scale(backend.rmsNorm(x, w.get(backend), { eps: 1e-5 }), 1 + i / 50);
  return x;
};
const lineWeights = async (...backends) =>
  new Map(await Promise.all(backends.map(async (backend) => [backend, await loadOnes(backend, 4096)])));

const line = async (device, cpu) => compared(device, cpu, recordLine(await lineWeights(device, cpu)));

/** The same, captured and replayed. */
async function replays(device, cpu) {
  const record = recordLine(await lineWeights(device, cpu));
  const want = await valuesOf(cpu, record);
  const step = device.step();
  const y = record(device, step);
  return owning(await device.graph.capture(step), async (graph) => {
    const all = [];
    for (let i = 0; i < 4; i++) {
      await graph.replay();
      all.push(within(distance(graph.read(y), want), `replay ${i}: `));
    }
    return worst(all);
  });
}

/** The first case of the kit that fails on chains. */
async function failedChain() {
  const only = { suites: ['chain'], cases: /^(several rows at once|each row has its own limit)/ };
  const kit = await runConformance({ createDriver: () => createDriver(), codecs: knownCodecs, only });
  return kit.results.find(({ status }) => status !== 'passed');
}

/** Chains of the kit; greedy tokens of the demo model: graphs, dependent launches and, where steps are fast, chains. */
async function chain(device, cpu) {
  const failed = await failedChain();
  if (failed) return { passed: false, message: `${failed.name}: ${failed.message}` };
  const path = join(kit, 'node_modules/@quern/demo-model/model/quern-demo.gguf');
  const options = { maxTokens: small ? 4 : 12, temperature: 0, ignoreEos: true };
  const generated = async (backend) =>
    owning(await loadModel(path, { backend, context: 64 }), async (model) =>
      (await model.generate('Once upon a time', options).result).tokens.join(),
    );
  const [got, want] = [await generated(device), await generated(cpu)];
  return {
    passed: got === want,
    message: got === want ? `tokens ${got}` : `tokens ${got} instead of ${want}`,
  };
}

async function rates(device) {
  const { readBandwidth, rates: found } = await device.measureCeilings();
  const all = { readBandwidth, ...found };
  return {
    passed: Object.values(all).every((value) => value > 0 && Number.isFinite(value)),
    message: Object.entries(all)
      .map(([name, value]) => `${name} ${value.toPrecision(3)}`)
      .join(', '),
  };
}

const forced = (kernel) => ({ QUERN_CUDA_PRODUCT: kernel });
const without = { QUERN_CUDA_DEPENDENT: '0', QUERN_CUDA_GRAPHS: '0' };

/** [name, check, variables]: what the others are made of first; rates run the riskiest kernels of all, so they come last. */
const families = [
  ['norms', norms, without],
  ['few rows, bf16', products('bf16', [1, 4]), without],
  ['few rows, q4_k', products('q4_k', [1, 2]), without],
  ['rows', products('q4_k', [4, 16, 48]), without],
  ['tiles', products('f32', small ? [160] : [160, 1536], small ? shapeOfProducts : [1024, 128]), without],
  ['mma.sync', products('q4_k', [160]), { ...without, ...forced('128x128 1') }],
  ['wgmma', products('bf16', [160]), { ...without, ...forced('warpgroups_128x256 1') }],
  ['attention, group', attention({ rows: 1, depth: small ? 40 : 700, dtype: 'f16' }), without],
  ['attention, tiles', attention({ rows: small ? 24 : 150, depth: 20, dtype: 'bf16' }), without],
  ['attention, rows', attention({ rows: 2, depth: 300, dtype: 'f32' }), without],
  ['sample', choices, without],
  ['graph', replays, { QUERN_CUDA_DEPENDENT: '0' }],
  ['dependent launches', line, { QUERN_CUDA_GRAPHS: '0' }],
  ['graph of dependent launches', replays, {}],
  ['chain', chain, {}],
  ['rates', rates, { QUERN_CUDA_RATES: 'measure' }],
];

/** What a family that fails is tried with, the least loss of speed first. */
const ladder = [
  { QUERN_CUDA_DEPENDENT: '0' },
  { QUERN_CUDA_PRODUCT: '128x128 1' },
  { QUERN_CUDA_ATTENTION: 'rows' },
  { QUERN_CUDA_ROWS: '0' },
  { QUERN_CUDA_GRAPHS: '0' },
];

const shownSwitch = (env) =>
  Object.entries(env)
    .map(([name, value]) => `${name}=${JSON.stringify(value).replace(/^"(\S*)"$/, '$1')}`)
    .join(' ');

/** Of one family; the driver gives up before. */
const secondsOfFamily = 8 * patience;
const self = fileURLToPath(import.meta.url);

/** One try of a family: { passed, message, machine }. */
async function tried(name, env) {
  let found;
  const { ended, text } = await runScript(self, [name], {
    env: { QUERN_CUDA_WAIT: String(Math.ceil(0.6 * secondsOfFamily)), ...env },
    seconds: Math.min(secondsOfFamily, Math.max(1, secondsLeft())),
    onFound: (one) => {
      found = one;
    },
  });
  if (found) return found;
  return { passed: false, message: `the process ${endingOf({ ended, text })}` };
}

const isAbsent = ({ message }) => /this GPU has no such kernel/.test(message);

/** A family, and the first switch with which it passes. The tries of the ladder run side by side. */
async function judge(name, env) {
  const { machine, ...result } = await tried(name, env);
  if (result.passed || isAbsent(result))
    return { machine, result: { name, ...result, passed: isAbsent(result) ? undefined : true } };
  const rungs = await Promise.all(ladder.map((rung) => tried(name, { ...env, ...rung })));
  const at = rungs.findIndex(({ passed }) => passed);
  return { machine, result: { name, ...result, switch: at < 0 ? null : ladder[at] } };
}

function show({ name, passed, message, switch: found }) {
  const outcome = passed === undefined ? 'absent' : passed ? 'passed' : 'FAILED';
  const way = found === undefined ? '' : found ? `; passes with ${shownSwitch(found)}` : '; no switch helps';
  console.log(`${outcome.padEnd(6)}  ${name}: ${message}${way}`);
}

async function judgeAll() {
  const wanted = new RegExp(process.env.QUERN_GPU_FAMILIES ?? '');
  const results = { machine: undefined, families: [], switches: {}, skipped: [], problems: [] };
  for (const [name, , env] of families.filter(([each]) => wanted.test(each))) {
    if (secondsLeft() < 2) {
      results.skipped.push(name);
      continue;
    }
    const { machine, result } = await judge(name, env);
    results.machine ??= machine;
    results.families.push(result);
    Object.assign(results.switches, result.switch);
    show(result);
    if (result.passed === false)
      results.problems.push(
        `${name}: ${result.message}; ${result.switch ? `passes with ${shownSwitch(result.switch)}` : 'no switch helps'}`,
      );
    saveUnfinished('smoke', results);
  }
  if (results.skipped.length > 0)
    results.problems.push(`not tried, the time was up: ${results.skipped.join('; ')}`);
  writeResults('smoke', results);
}

async function tryOne(name) {
  const [, act] = families.find(([each]) => each === name);
  try {
    await withDevice(true, async (device) => {
      const machine = machineOf(device);
      const cpu = await openCpu({ precision: 'exact' });
      sendToParent({ machine, ...(await owning(cpu, () => act(device, cpu))) });
    });
  } catch (error) {
    sendToParent({ passed: false, message: errorText(error) });
  }
  process.exit();
}

const [, , family] = process.argv;
await (family ? tryOne(family) : judgeAll());
