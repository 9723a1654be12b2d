// Device time of each op of one step of a model, by the timer of the backend. Ops below 5 µs show the host's rate of launches.
import { contiguousKvCache, inputBatch } from '@quern/core';
import { loadLanguageModel, openModelFile } from '@quern/models';
import { owning } from './device.mjs';
import { errorText } from './processes.mjs';
import { secondsLeft } from './setting.mjs';

/** Runs of a step: the least time of each op counts. */
const runs = 3;
const maxRows = 24;

/** One run: { op, name, milliseconds } of each op. */
async function run(model, cache, sequences, rows) {
  const { backend } = model;
  const step = backend.step();
  const entries = sequences.map((sequence) => ({ sequence, rows }));
  const batch = inputBatch(step, cache.describe(entries));
  const ids = Int32Array.from({ length: sequences.length * rows }, (_, i) => (i * 7919) % 256);
  backend.argmax(model.forward(step.input(ids), batch, cache));
  const times = await backend.timer.run(step);
  step.dispose();
  return times;
}

/** 'linear blk.3.attn_q.weight' → 'linear attn_q.weight': layers are added up. */
const withoutLayer = (name) => name.replace(/(blk|model\.layers)\.\d+\./g, '');

/** { ops: [{ name, count, milliseconds }], milliseconds }: the slowest first. */
function summary(all) {
  const least = all[0].map((one, i) => ({
    ...one,
    milliseconds: Math.min(...all.map((times) => times[i].milliseconds)),
  }));
  const groups = new Map();
  for (const { name, milliseconds } of least) {
    const group = groups.get(withoutLayer(name)) ?? { name: withoutLayer(name), count: 0, milliseconds: 0 };
    group.count++;
    group.milliseconds += milliseconds;
    groups.set(group.name, group);
  }
  const ops = [...groups.values()].sort((a, b) => b.milliseconds - a.milliseconds);
  return {
    milliseconds: least.reduce((sum, one) => sum + one.milliseconds, 0),
    count: least.length,
    ops: ops.slice(0, maxRows),
  };
}

async function timesOf(model, { sequences, rows, depth }) {
  const { layers, kvHeads, headDim } = model.config;
  const shape = { layers, kvHeads, headDim, dtype: 'f16', context: depth + rows, sequences };
  return owning(contiguousKvCache(model.backend, shape), async (cache) => {
    const all = Array.from({ length: sequences }, () => cache.sequence());
    for (const sequence of all) sequence.append(depth + rows);
    const times = [];
    for (let i = 0; i < runs; i++) times.push(await run(model, cache, all, rows));
    return summary(times);
  });
}

/** Sends { step, milliseconds, count, ops } of each step, or { step, failed }. */
export async function timesOfSteps(backend, path, steps, send) {
  await owning(await loadLanguageModel(await openModelFile(path), backend), async (model) => {
    for (const { name, ...step } of steps) {
      if (secondsLeft() < 2) {
        send({ skipped: `times per op, ${name}` });
        continue;
      }
      send({ begins: `times per op, ${name}` });
      try {
        send({ step: name, ...(await timesOf(model, step)) });
      } catch (error) {
        send({ step: name, failed: errorText(error) });
      }
    }
  });
}
