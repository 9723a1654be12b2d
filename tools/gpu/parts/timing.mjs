// Times of one op among many of a captured plan.
import { owning } from './device.mjs';
import { small } from './setting.mjs';

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Seconds of device work in a plan: long beside the wake-up of JavaScript. */
const enough = 0.004;
const mostOps = 120;

/**
 * A plan of `ops` ops. `consumers` ops add up a row of each result: all plans compared have the same number, and no result
 * of many rows is copied to the host.
 */
async function capture(backend, record, ops, consumers) {
  const step = backend.step();
  const context = record.prepare?.(step);
  let sum;
  const add = (row) => {
    sum = sum === undefined ? backend.add(row, row) : backend.add(sum, row);
  };
  let last;
  for (let i = 0; i < ops; i++) {
    const y = record.op(step, context, i);
    if (y === undefined || y.dtype === 'i32') continue; // small results, which stay as they are
    last = y.shape.length > 1 ? backend.slice(y, 0, 1) : y;
    add(last);
  }
  if (last) for (let i = ops; i < consumers; i++) add(last);
  return backend.graph.capture(step);
}

async function secondsOfReplay(graph, times) {
  for (let i = 0; i < 2; i++) await graph.replay(); // kernels are loaded; CUDA graphs are made
  const all = [];
  for (let i = 0; i < times; i++) {
    const from = performance.now();
    await graph.replay();
    all.push((performance.now() - from) / 1000);
  }
  return median(all);
}

/** Runs of a plan; fewer of a long one. */
const timesFor = (seconds) => (small || seconds > 0.02 ? 3 : 9);

/** Other programs disturb a measurement; so often it is repeated. */
const attempts = 4;

/**
 * Seconds of one op: a plan with 2n of them less a plan with n, over n. Launching, copying and waking cancel out.
 * Throws if twice the ops take no longer, again and again.
 * @param record.op records op number i and returns its result; `prepare` makes what they share
 */
export async function secondsOfOp(backend, record) {
  const alone = await owning(await capture(backend, record, 1, 2), (one) => secondsOfReplay(one, 2));
  const n = Math.max(small ? 1 : 2, Math.min(mostOps, Math.ceil(enough / alone)));
  const secondsOf = async (ops) =>
    owning(await capture(backend, record, ops, 2 * n), (graph) => secondsOfReplay(graph, timesFor(alone)));
  for (let i = 0; i < attempts; i++) {
    const few = await secondsOf(n);
    const more = (await secondsOf(2 * n)) - few;
    if (more > 0) return more / n;
  }
  throw new Error(`${2 * n} ops take no longer than ${n}: too short to measure beside other programs`);
}
