import {
  type Backend,
  type CapturedGraph,
  contiguousKvCache,
  type HostArray,
  type KvCache,
  need,
  type Step,
  type Tensor,
} from '@quern/core';
import type { Case, Suite } from '../case.js';
import { floats, fresh, loadValues } from '../ops/fresh.js';
import {
  type DecoderStep,
  type DecoderWeights,
  decoderCache,
  loadDecoder,
  recordDecoder,
} from '../plans/tiny-decoder.js';
import { bytesOf } from '../values/numbers.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('graph');

async function capture(backend: Backend, step: Step): Promise<CapturedGraph> {
  need(backend, 'graph');
  return backend.graph.capture(step);
}

function sameBits(label: string, got: HostArray, want: HostArray): void {
  const [a, b] = [bytesOf(got), bytesOf(want)];
  ensure(
    a.length === b.length && a.every((byte, i) => byte === b[i]),
    `${label} should be the same bit for bit; got ${got.join()}, expected ${want.join()}`,
  );
}

/** silu(x · wᵀ) · x for x [1, 16]. */
async function recordSmall(backend: Backend, values: Float32Array) {
  const weight = await loadValues(
    backend,
    floats(...Array.from({ length: 256 }, (_, i) => Math.sin(i))),
    [16, 16],
  );
  const step = backend.step();
  const x = step.input(values, [1, 16]);
  const y = backend.mul(backend.silu(backend.linear(x, weight)), x);
  return { weight, step, x, y };
}

const ramp = (scale: number) => Float32Array.from({ length: 16 }, (_, i) => scale * (i - 7.3));

async function ranOnce(backend: Backend, values: Float32Array): Promise<HostArray> {
  const { step, y } = await recordSmall(backend, values);
  return step.read(y);
}

/** Tokens and logits of a greedy decode with one step per token. */
async function decodeBySteps(
  backend: Backend,
  w: DecoderWeights,
  prompt: number,
  count: number,
): Promise<HostArray[]> {
  const cache = contiguousKvCache(backend, { ...decoderCache, sequences: 1 });
  const sequence = cache.sequence();
  const logits: HostArray[] = [];
  let token = prompt;
  for (let i = 0; i < count; i++) {
    sequence.append(1);
    const recorded = recordDecoder(backend, w, cache, sequence, [token]);
    logits.push(await recorded.step.read(recorded.logits));
    token = (await recorded.step.read(recorded.next))[0]!;
  }
  return logits;
}

/** Writes the changes from token to token into a captured decode step. */
function writeToken(
  graph: CapturedGraph,
  { ids, batch }: DecoderStep,
  cache: KvCache,
  sequence: ReturnType<KvCache['sequence']>,
  token: number,
): void {
  const arrays = cache.describe([{ sequence, rows: 1 }]);
  graph.write(ids, Int32Array.of(token));
  for (const name of ['positions', 'slots', 'kvLengths', 'blockTable'] as const)
    graph.write(batch[name], arrays[name]);
}

async function decodeByReplay(
  backend: Backend,
  w: DecoderWeights,
  prompt: number,
  count: number,
): Promise<HostArray[]> {
  const cache = contiguousKvCache(backend, { ...decoderCache, sequences: 1 });
  const sequence = cache.sequence();
  sequence.append(1);
  const recorded = recordDecoder(backend, w, cache, sequence, [prompt]);
  const graph = await capture(backend, recorded.step);
  const logits: HostArray[] = [];
  for (let i = 0; i < count; i++) {
    await graph.replay();
    logits.push(graph.read(recorded.logits).slice());
    sequence.append(1);
    writeToken(graph, recorded, cache, sequence, graph.read(recorded.next)[0]!);
  }
  return logits;
}

const sameness: readonly Case[] = [
  on('a replay equals the step, bit for bit', async (backend) => {
    const want = await ranOnce(backend, ramp(0.3));
    const { step, y } = await recordSmall(backend, ramp(0.3));
    const graph = await capture(backend, step);
    for (let i = 0; i < 3; i++) {
      await graph.replay();
      sameBits(`replay ${i}`, graph.read(y), want);
    }
  }),
  on('new inputs give new results', async (backend) => {
    const { step, x, y } = await recordSmall(backend, ramp(0.3));
    const graph = await capture(backend, step);
    await graph.replay();
    for (const scale of [1, -0.5, 0.01]) {
      graph.write(x, ramp(scale));
      await graph.replay();
      sameBits(`inputs times ${scale}`, graph.read(y), await ranOnce(backend, ramp(scale)));
    }
    await graph.replay();
    sameBits('inputs stay', graph.read(y), await ranOnce(backend, ramp(0.01)));
  }),
  on('a decode by replay equals one by steps, bit for bit', async (backend) => {
    const w = await loadDecoder(backend);
    const want = await decodeBySteps(backend, w, 3, 10);
    const got = await decodeByReplay(backend, w, 3, 10);
    for (const [i, logits] of want.entries()) sameBits(`logits of token ${i}`, got[i]!, logits);
  }),
  on('two graphs and a step in alternation', async (backend) => {
    const [a, b] = [await recordSmall(backend, ramp(0.3)), await recordSmall(backend, ramp(2))];
    const [first, second] = [await capture(backend, a.step), await capture(backend, b.step)];
    const results = await Promise.all([
      first.replay(),
      ranOnce(backend, ramp(1)),
      second.replay(),
      first.replay(),
    ]);
    sameBits('the step', results[1], await ranOnce(backend, ramp(1)));
    sameBits('the first graph', first.read(a.y), await ranOnce(backend, ramp(0.3)));
    sameBits('the second graph', second.read(b.y), await ranOnce(backend, ramp(2)));
  }),
];

const endings: readonly Case[] = [
  on('a graph ends with its weight', async (backend) => {
    const { step, weight } = await recordSmall(backend, ramp(1));
    const graph = await capture(backend, step);
    await graph.replay();
    weight.dispose();
    ensure(graph.disposed, 'graph.disposed should be true');
    await refusal('DISPOSED', () => graph.replay());
    await proveUsable(backend);
  }),
  on('a graph ends with its buffer', async (backend) => {
    const w = await loadDecoder(backend);
    const cache = contiguousKvCache(backend, { ...decoderCache, sequences: 1 });
    const sequence = cache.sequence();
    sequence.append(1);
    const graph = await capture(backend, recordDecoder(backend, w, cache, sequence, [1]).step);
    await graph.replay();
    cache.dispose();
    await refusal('DISPOSED', () => graph.replay());
    await proveUsable(backend);
  }),
  on('a graph after dispose', async (backend) => {
    const { step, x, y } = await recordSmall(backend, ramp(1));
    const graph = await capture(backend, step);
    await graph.replay();
    graph.dispose();
    graph.dispose();
    await refusal('DISPOSED', () => graph.replay());
    await refusal('DISPOSED', () => graph.read(y));
    await refusal('DISPOSED', () => graph.write(x, ramp(2)));
    await proveUsable(backend);
  }),
  on('a graph of a backend after dispose', async (backend) => {
    const { step } = await recordSmall(backend, ramp(1));
    const graph = await capture(backend, step);
    await graph.replay();
    backend.dispose();
    await refusal('DISPOSED', () => graph.replay());
  }),
  on('capturing finishes the step', async (backend) => {
    const { step, y } = await recordSmall(backend, ramp(1));
    const captured = capture(backend, step);
    await refusal('STEP_FINISHED', () => step.run());
    await captured;
    await refusal('STEP_FINISHED', () => capture(backend, step));
    await refusal('STEP_FINISHED', () => backend.silu(y));
  }),
  on('a step of another backend', async (backend, lab) => {
    const other = await lab.open();
    const { step } = await recordSmall(other, ramp(1));
    await refusal('WRONG_STEP', () => capture(backend, step));
  }),
];

const mistakes: readonly Case[] = [
  on('invalid writes and reads', async (backend) => {
    const weight = await loadValues(backend, floats(1, 2), [2, 1]);
    const step = backend.step();
    const x = step.input(floats(3), [1, 1]);
    const inner = backend.linear(x, weight);
    const y = backend.silu(inner);
    const graph = await capture(backend, step);
    await refusal('BAD_SHAPE', () => graph.write(x, floats(1, 2)));
    await refusal('BAD_DTYPE', () => graph.write(x, Int32Array.of(1)));
    await refusal('BAD_ARGUMENT', () => graph.write(y, floats(1, 2)));
    await graph.replay();
    await refusal('NOT_KEPT', () => graph.read(inner));
  }),
  on('an abort, then a replay', async (backend) => {
    const { step, y } = await recordSmall(backend, ramp(1));
    const graph = await capture(backend, step);
    await refusal('ABORTED', () => graph.replay({ signal: AbortSignal.abort() }));
    await graph.replay();
    sameBits('the replay after an abort', graph.read(y), await ranOnce(backend, ramp(1)));
  }),
  on('an abort while a replay runs', async (backend) => {
    const stops = backend.profile.abort !== 'step'; // a started plan may run to its end
    for (const [ops, rows] of replays)
      if ((await abortsReplay(backend, ops, rows)) || !stops) return proveUsable(backend);
    throw new Error('replays of 32000 ops ended before they saw their signal');
  }),
  on('an id out of range, then a good one', async (backend) => {
    const weight = await loadValues(backend, floats(1, 2, 3), [3, 1]);
    const step = backend.step();
    const ids = step.input(Int32Array.of(2));
    const y = backend.embed(weight, ids);
    const graph = await capture(backend, step);
    graph.write(ids, Int32Array.of(3));
    await refusal('OUT_OF_RANGE', () => graph.replay());
    graph.write(ids, Int32Array.of(1));
    await graph.replay();
    sameBits('the row', graph.read(y), floats(2));
  }),
];

/** Ops of a replay to abort, and rows of each: a fast device needs the longer ones. */
const replays = [
  [500, 1],
  [4000, 8],
  [32_000, 8],
] as const;

/** Aborts a replay partway. Returns false if the replay ran to its end. */
async function abortsReplay(backend: Backend, ops: number, rows: number): Promise<boolean> {
  const weight = await loadValues(backend, new Float32Array(64 * 64).fill(1 / 64), [64, 64]);
  const step = backend.step();
  let y: Tensor = step.input(new Float32Array(rows * 64).fill(1), [rows, 64]);
  for (let i = 0; i < ops; i++) y = backend.linear(y, weight);
  const graph = await capture(backend, step);
  const start = performance.now();
  await graph.replay();
  const took = performance.now() - start;
  const controller = new AbortController();
  const replay = graph.replay({ signal: controller.signal });
  const timer = setTimeout(() => controller.abort(), took / 4);
  const [end] = await Promise.allSettled([replay]);
  clearTimeout(timer);
  if (end.status === 'rejected') await refusal('ABORTED', () => Promise.reject(end.reason));
  await graph.replay();
  ensure(Math.abs(graph.read(y)[0]! - 1) < 1e-3, 'a replay after an abort should give the right values');
  return end.status === 'rejected';
}

/** Captured steps must equal recorded steps, many times. */
export const graph: Suite = ({ backend }) => (backend.graph ? [...sameness, ...endings, ...mistakes] : []);
