// Times of one op among many of a captured plan.
import { owning } from './device.mjs';
import { small } from './setting.mjs';

/** Seconds of device work in a plan: long beside the wake-up of JavaScript. */
const enough = 0.004;
const maxOps = small ? 8 : 400;

/** Other programs make runs longer, never shorter. */
const lowerQuartile = (values) => [...values].sort((a, b) => a - b)[values.length >> 2];

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
  return lowerQuartile(all);
}

/** Runs of a plan; fewer of a long one. */
const timesFor = (seconds) => (small || seconds > 0.02 ? 3 : 9);

/** Other programs disturb a measurement: it is repeated this many times at most. */
const attempts = 4;

const secondsOfPlan = async (backend, record, ops, consumers, times) =>
  owning(await capture(backend, record, ops, consumers), (graph) => secondsOfReplay(graph, times));

/** Seconds of one op, roughly: the host's part of a replay cancels out. */
async function estimate(backend, record) {
  const few = 1;
  const many = 9;
  const one = await secondsOfPlan(backend, record, few, many, 3);
  const nine = await secondsOfPlan(backend, record, many, many, 3);
  return Math.max((nine - one) / (many - few), 1e-6);
}

/**
 * Seconds of one op: a plan with 2n of them less a plan with n, over n. Launching, copying and waking cancel out.
 * Throws if twice the ops take no longer, again and again.
 * @param record.op records op number i and returns its result; `prepare` makes what they share; `least`: ops until all
 * copies of its operands were read
 */
export async function secondsOfOp(backend, record) {
  const alone = await estimate(backend, record);
  const n = Math.max(small ? 1 : 2, record.least ?? 1, Math.min(maxOps, Math.ceil(enough / alone)));
  const secondsOf = (ops) => secondsOfPlan(backend, record, ops, 2 * n, timesFor(n * alone));
  for (let i = 0; i < attempts; i++) {
    const few = await secondsOf(n);
    const more = (await secondsOf(2 * n)) - few;
    if (more > 0) return more / n;
  }
  throw new Error(`${2 * n} ops take no longer than ${n}: too short to measure beside other programs`);
}
