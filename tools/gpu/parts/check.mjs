// Whether the device computes what it should: one op, the conformance kit, logits of other implementations, a story. Each in processes of its own.
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBackend as openCpu } from '@quern/backend-cpu';
import { contiguousKvCache, inputBatch } from '@quern/core';
import { loadLanguageModel, openModelFile } from '@quern/models';
import { loadModel } from '@quern/runtime';
import { owning, withDevice } from './device.mjs';
import { runKit } from './kit-runs.mjs';
import { endingOf, errorText, runScript, sendToParent } from './processes.mjs';
import {
  detailPath,
  kit,
  machineOf,
  saveUnfinished,
  schedule,
  secondsUntil,
  small,
  writeResults,
} from './setting.mjs';

const oneOp = () =>
  withDevice(false, async (backend) => {
    const machine = machineOf(backend);
    const step = backend.step();
    const [a, b] = await step.read(backend.l2Normalise(step.input(Float32Array.of(3, 4), [1, 2])));
    step.dispose();
    const { device, isa, driver } = machine;
    return {
      machine,
      passed: Math.abs(a - 0.6) + Math.abs(b - 0.8) < 1e-6,
      message: `${device}, ${isa}, ${driver ?? 'no nvidia-smi'}; (3, 4) → (${a}, ${b})`,
    };
  });

/** A dry run has a few cases of the kit; QUERN_GPU_CASES: others. */
const cases = process.env.QUERN_GPU_CASES ?? (small ? '^(l2Normalise|swiglu|tanh): ' : undefined);

/** Cases that measure the free memory of the device, or how long it takes: nothing runs beside them. */
const alone = ['leaks', 'memory', 'timer', 'abort', 'concurrency'];

/** Processes that share the cases: what the cores allow. */
const shares = Math.min(12, Math.max(2, Math.floor(0.75 * availableParallelism())));

async function conformance(until) {
  const log = detailPath('conformance.log');
  const [[, beside], [, last]] = schedule([{ seconds: 3 }, { seconds: 1 }], until);
  const together = await runKit({ cases, without: alone }, { count: shares, until: beside, log });
  const single = await runKit({ cases, suites: alone }, { until: last, log });
  const all = [together, single];
  const sum = (name) => all.reduce((total, found) => total + found[name], 0);
  const failures = all.flatMap((found) => found.failures);
  for (const { name, message } of failures.slice(0, 20)) console.log(`   ${name}\n      ${message}`);
  const [passed, failed, unfinished] = ['passed', 'failed', 'unfinished'].map(sum);
  const [avoided, underWay] = ['avoided', 'underWay'].map((name) => all.flatMap((found) => found[name]));
  const rest = [
    unfinished > 0 && `${unfinished} of ${shares + 1} processes left cases undone`,
    underWay.length > 0 && `under way were ${underWay.join(', ')}`,
    avoided.length > 0 && `left out, since a case of the op hung: ${new Set(avoided).size}`,
  ].filter(Boolean);
  return {
    passed: failed === 0 && unfinished === 0 && passed > 0,
    message: `${passed} passed, ${failed} failed, ${[`${sum('notSupported')} not supported`, ...rest].join('; ')}`,
    failures,
  };
}

/** Logits of every row of a sequence. */
async function logitsOf(model, ids) {
  const { layers, kvHeads, headDim } = model.config;
  const shape = { layers, kvHeads, headDim, dtype: 'f32', context: ids.length, sequences: 1 };
  return owning(contiguousKvCache(model.backend, shape), async (cache) => {
    const sequence = cache.sequence();
    sequence.append(ids.length);
    const step = model.backend.step();
    const batch = inputBatch(step, cache.describe([{ sequence, rows: ids.length }]));
    const logits = await step.read(model.forwardAll(step.input(Int32Array.from(ids)), batch, cache));
    step.dispose();
    return logits;
  });
}

/** Largest difference from transformers' logits, allowed as in the tests of packages/models. */
const goldenCases = {
  llama: ['tiny_llama.safetensors', 2e-5],
  qwen2: ['tiny_qwen2.safetensors', 2e-5],
  qwen3: ['tiny_qwen3.safetensors', 2e-5],
  qwen3_moe: ['tiny_qwen3_moe.safetensors', 2e-5],
};

/** The largest difference of two tables of logits; Infinity where one is NaN. */
function distance(got, want) {
  if (got.length !== want.length) throw new Error(`${got.length} logits instead of ${want.length}`);
  return want.reduce((most, value, j) => {
    const error = Math.abs(got[j] - value);
    return Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(most, error);
  }, 0);
}

async function golden(backend, name, [file, allowed]) {
  const at = (path) => join(kit, 'tiny-hf', path);
  const opened = await openModelFile(at(file), { config: at(`tiny_${name}_config.json`) });
  const { sequences, logits } = JSON.parse(readFileSync(at(`tiny_${name}_logits.json`), 'utf8'));
  return owning(await loadLanguageModel(opened, backend), async (model) => {
    const errors = [];
    for (const [i, ids] of sequences.entries())
      errors.push(distance(await logitsOf(model, ids), logits[i].flat()));
    return { name, error: Math.max(...errors), allowed };
  });
}

async function goldens() {
  if (!existsSync(join(kit, 'tiny-hf')))
    return { message: 'the kit was made without ../shared/data/tiny-hf' };
  const wanted = Object.entries(goldenCases).slice(0, small ? 1 : undefined);
  const results = await withDevice(true, async (backend) => {
    const all = [];
    for (const [name, one] of wanted) all.push(await golden(backend, name, one));
    return all;
  });
  return {
    passed: results.every(({ error, allowed }) => error <= allowed),
    message: results.map(({ name, error }) => `${name} ${error.toExponential(1)}`).join(', '),
    results,
  };
}

const storyTokens = small ? 3 : 200;
const demo = join(kit, 'node_modules/@quern/demo-model/model/quern-demo.gguf');

/** Greedy tokens of the demo model, alone and in a batch of three, and those of the prompt. */
async function generate(backend) {
  const options = { maxTokens: storyTokens, temperature: 0, ignoreEos: true };
  return owning(await loadModel(demo, { backend, context: 256, sequences: 4 }), async (model) => {
    const prompt = model.tokenize('Once upon a time');
    const one = async () => (await model.generate(prompt, options).result).tokens;
    return { prompt, texts: [await one(), ...(await Promise.all([one(), one(), one()]))] };
  });
}

/** Greedy choices between logits that differ by less are chance. */
const chance = 1e-3;

/**
 * Where two texts diverge: the number of tokens before, both tokens, and by how much backend-cpu's logits of them differ. undefined if they
 * are equal.
 */
async function divergence(cpu, prompt, want, got) {
  const at = want.findIndex((token, i) => token !== got[i]);
  if (at < 0) return undefined;
  const ids = [...prompt, ...want.slice(0, at)];
  const logits = await owning(await loadLanguageModel(await openModelFile(demo), cpu), (model) =>
    logitsOf(model, ids),
  );
  const last = logits.subarray(logits.length - logits.length / ids.length);
  return { at, want: want[at], got: got[at], difference: Math.abs(last[want[at]] - last[got[at]]) };
}

const divergenceText = ({ at, want, got, difference }) =>
  `after ${at} tokens ${got} instead of ${want}: logits differ by ${difference?.toExponential(1)}${difference < chance ? ', chance' : ''}`;

const story = async () =>
  owning(await openCpu({ precision: 'exact' }), async (cpu) => {
    const { prompt, texts } = await generate(cpu);
    const [want] = texts;
    const divergences = [];
    for (const got of (await withDevice(true, generate, { precision: 'exact' })).texts)
      divergences.push(await divergence(cpu, prompt, want, got));
    const same = divergences.map((one) => one?.at ?? storyTokens);
    const differences = [...new Set(divergences.filter(Boolean).map(divergenceText))];
    return {
      passed: divergences.every((one) => one === undefined || one.difference < chance),
      message: [
        `as backend-cpu (exact): the first ${same.join(', ')} of ${storyTokens} greedy tokens`,
        ...differences,
      ].join('; '),
      same,
      divergences: divergences.map((one) => one ?? null),
    };
  });

const self = fileURLToPath(import.meta.url);

/** A check in a process of its own. */
async function ofProcess(name, until) {
  let found;
  const { ended, text } = await runScript(self, [name], {
    seconds: Math.max(1, secondsUntil(until)),
    onFound: (one) => {
      found = one;
    },
  });
  return found ?? { passed: false, message: `the process ${endingOf({ ended, text })}` };
}

/** [name, check, seconds that it may take]; a check without one is the kit. */
const checks = [
  { name: 'one op', act: oneOp, seconds: 6 },
  { name: 'conformance', seconds: 40 },
  { name: 'golden logits', act: goldens, seconds: 8 },
  { name: 'a story', act: story, seconds: 10 },
];

/** Judges all in order. Without the first, nothing follows. */
async function judgeAll() {
  const results = { machine: undefined, checks: {}, problems: [] };
  for (const [{ name, act }, until] of schedule(checks)) {
    const from = performance.now();
    const { machine, ...found } = await (act ? ofProcess(name, until) : conformance(until));
    results.machine ??= machine;
    results.checks[name] = found;
    const outcome = found.passed === undefined ? 'skipped' : found.passed ? 'passed' : 'FAILED';
    console.log(
      `${outcome}  ${name}: ${found.message} (${((performance.now() - from) / 1000).toFixed(1)} s)`,
    );
    if (found.passed === false) results.problems.push(`${name}: ${found.message}`);
    for (const one of (found.failures ?? []).slice(0, 50))
      results.problems.push(`${one.name}: ${one.message}`);
    saveUnfinished('check', results);
    if (name === 'one op' && !found.passed) break;
  }
  writeResults('check', results);
}

async function judgeOne(name) {
  try {
    sendToParent(await checks.find((one) => one.name === name).act());
  } catch (error) {
    sendToParent({ passed: false, message: errorText(error) });
  }
  process.exit();
}

const [, , wanted] = process.argv;
await (wanted ? judgeOne(wanted) : judgeAll());
