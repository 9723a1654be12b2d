import {
  type AnyOp,
  type Backend,
  contiguousKvCache,
  coreOps,
  type Driver,
  defineBackend,
  fills,
  need,
  type OptionalOpName,
} from '@quern/core';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { checkOutcome, define } from '../ops/expect.js';
import { floats, loadValues } from '../ops/fresh.js';
import { recordItself, runCase } from '../ops/run-op.js';
import { type DecoderWeights, decoderCache, loadDecoder, recordDecoder } from '../plans/tiny-decoder.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const suite = 'filled';

const all = Object.keys(fills) as OptionalOpName[];
/** Those that core fills. */
const optional = all.filter((op) => fills[op] !== 'refuse');
/** Those without which some models are refused. */
const refused = all.filter((op) => fills[op] === 'refuse');

/** The driver with ops missing in its manifest. */
function without(driver: Driver, ops: readonly OptionalOpName[]): Driver {
  const left = Object.entries(driver.manifest.ops).filter(([op]) => !ops.some((hole) => hole === op));
  const manifest = { ...driver.manifest, ops: Object.fromEntries(left) };
  return Object.create(driver, { manifest: { value: manifest } });
}

/** A case on a backend with ops missing in its driver. */
const on = (
  name: string,
  holes: readonly OptionalOpName[],
  prove: (backend: Backend, lab: Lab) => Promise<void>,
): Case => ({
  suite,
  name,
  async run(lab) {
    const backend = defineBackend(without(await lab.options.createDriver(), holes), { guard: 256 });
    try {
      await prove(backend, lab);
    } finally {
      backend.dispose();
    }
  },
});

const samplesOf = (hole: OptionalOpName): Case =>
  on(`${hole} is computed without its kernel`, [hole], async (backend) => {
    const op: AnyOp = coreOps[hole];
    ensure(backend.filled[hole] !== undefined, `filled should name ${hole}`);
    for (const sample of op.samples()) {
      const got = await runCase(backend, op, sample, recordItself(op));
      checkOutcome(op, sample, got, define(op, sample));
    }
  });

/** A model that needs the op is refused before anything runs, and the backend stays usable. */
const refusalOf = (op: OptionalOpName): Case =>
  on(`a model that needs ${op} is refused where it is missing`, [op], async (backend) => {
    ensure(backend.filled[op] === undefined, `core cannot fill ${op}`);
    const [sample] = coreOps[op].samples();
    const run = () => runCase(backend, coreOps[op], sample!, recordItself(coreOps[op]));
    const { message } = await refusal('UNSUPPORTED', run);
    ensure(message.startsWith(`[${op}]`), `the refusal should name ${op}; got: ${message}`);
    await proveUsable(backend);
  });

/** Logits of a prompt and of some later tokens, each in its own step. */
async function tell(backend: Backend, w: DecoderWeights): Promise<Float32Array[]> {
  const cache = contiguousKvCache(backend, { ...decoderCache, sequences: 1 });
  const sequence = cache.sequence();
  const logits: Float32Array[] = [];
  for (const tokens of [[3, 1, 4], [1], [5]]) {
    sequence.append(tokens.length);
    const recorded = recordDecoder(backend, w, cache, sequence, tokens);
    await recorded.step.run();
    logits.push((await recorded.step.read(recorded.logits)) as Float32Array);
  }
  return logits;
}

function needNear(what: string, got: Float32Array, want: Float32Array, allowed: number): void {
  const at = got.findIndex((value, i) => !(Math.abs(value - want[i]!) <= allowed));
  ensure(got.length === want.length && at < 0, `${what}: element ${at} is ${got[at]}; expected ${want[at]}`);
}

const decoder: Case = on(
  'a decoder without all optional ops gives the results of the complete driver',
  optional,
  async (backend, lab) => {
    const whole = await lab.open();
    const want = await tell(whole, await loadDecoder(whole));
    const got = await tell(backend, await loadDecoder(backend));
    for (const [i, logits] of want.entries()) needNear(`step ${i}`, got[i]!, logits, 1e-4);
  },
);

/** x → device op → mask on the host → device op: three parts; all kept tensors must be right. */
const parts: Case = on(
  'a host op in the middle, with kept tensors on both sides',
  ['maskLogits'],
  async (backend) => {
    const step = backend.step();
    const x = step.input(floats(1, 2, 3, 4), [1, 4]);
    const before = backend.scale(x, 2);
    const masked = backend.maskLogits(before, step.input(Int32Array.of(0b1011), [1, 1]));
    const best = backend.argmax(masked);
    const after = backend.add(backend.softmax(masked), before);
    for (const tensor of [before, masked, after]) step.keep(tensor);
    await step.run();
    const [b, m, a] = [await step.read(before), await step.read(masked), await step.read(after)];
    ensure(b.join() === '2,4,6,8', `before is ${b.join()}`);
    ensure(m.join() === '2,4,-Infinity,8', `masked is ${m.join()}`);
    ensure((await step.read(best))[0] === 3, 'the largest remaining logit is 3');
    needNear('after', a as Float32Array, floats(2.0024, 4.018, 6, 8.9796), 1e-3);
  },
);

async function proveReplays(backend: Backend): Promise<void> {
  need(backend, 'graph');
  const step = backend.step();
  const x = step.input(floats(1, 2, 3, 4), [1, 4]);
  const bits = step.input(Int32Array.of(0b0111), [1, 1]);
  const best = backend.argmax(backend.scale(backend.maskLogits(backend.scale(x, -1), bits), -1));
  step.keep(best);
  const graph = await backend.graph.capture(step);
  await graph.replay();
  const first = graph.read(best)[0];
  graph.write(x, floats(9, 2, 3, 4));
  graph.write(bits, Int32Array.of(0b1111));
  await graph.replay();
  ensure(
    first === 3 && graph.read(best)[0] === 0,
    `replays give ${first}, ${graph.read(best)[0]}; expected 3, 0`,
  );
}

/** y = draw of x, where x is the table row of the previous token. The host draws, the device reads the table. */
async function proveChain(backend: Backend): Promise<void> {
  need(backend, 'graph');
  const table = await loadValues(backend, floats(0, 9, 0, 0, 0, 9, 9, 0, 0), [3, 3]); // 0 → 1 → 2 → 0
  const step = backend.step();
  const token = step.input(Int32Array.of(0, 2));
  const draws = step.input(Int32Array.of(0, 0));
  const settings = step.input(floats(1, 1, 1, -9, 1, 1, 1, -9), [2, 4]);
  const random = step.input(new Int32Array(20), [10, 2]);
  const next = backend.sample(backend.embed(table, token), settings, random, draws);
  step.keep(next);
  const chain = { output: next, feed: token, advance: [draws], most: 4 };
  const graph = await backend.graph.capture(step, { chain });
  const limits = new Int32Array(new SharedArrayBuffer(8)).fill(4);
  const { tokens, counts } = await graph.replayChain({ limits });
  ensure(tokens.join() === '1,0,2,1,0,2,1,0', `a chain of two rows gives ${tokens.join()}`);
  ensure(counts.join() === '4,4', `its rows count ${counts.join()} tokens`);
}

/** Replays requested before the first has ended: each uses its own inputs in all its parts. */
async function proveInFlight(backend: Backend): Promise<void> {
  need(backend, 'graph');
  const step = backend.step();
  const x = step.input(floats(1, 2, 3, 4), [1, 4]);
  const bits = step.input(Int32Array.of(0), [1, 1]);
  const best = backend.argmax(backend.scale(backend.maskLogits(backend.scale(x, 1), bits), 1));
  step.keep(best);
  const graph = await backend.graph.capture(step);
  const found: number[] = [];
  const replays: Promise<void>[] = [];
  for (const bit of [2, 0, 3, 1]) {
    graph.write(bits, Int32Array.of(1 << bit));
    replays.push(graph.replay().then(() => void found.push(graph.read(best)[0]!)));
  }
  await Promise.all(replays);
  ensure(found.join() === '2,0,3,1', `replays one after the other give ${found.join()}`);
}

async function proveErrors(backend: Backend): Promise<void> {
  const step = backend.step();
  const x = step.input(floats(1, 2), [1, 2]);
  const settings = step.input(floats(1, 0, 1, Number.NEGATIVE_INFINITY), [1, 4]);
  backend.sample(
    backend.scale(x, 2),
    settings,
    step.input(Int32Array.of(1, 2), [1, 2]),
    step.input(Int32Array.of(5)),
  );
  await refusal('OUT_OF_RANGE', () => step.run());
  await proveUsable(backend);
}

async function proveTimes(backend: Backend): Promise<void> {
  need(backend, 'timer');
  const step = backend.step();
  const x = step.input(floats(1, 2), [1, 2]);
  backend.scale(backend.maskLogits(backend.scale(x, 2), step.input(Int32Array.of(3), [1, 1])), 3);
  const names = (await backend.timer.run(step)).map(({ op }) => op).join();
  ensure(names === 'scale,maskLogits,scale', `the timer names ${names}`);
}

const replayed: readonly Case[] = [
  on('a captured plan with a host op', ['maskLogits'], proveReplays),
  on('a chain with a host op', ['sample'], proveChain),
  on('replays requested together, with a host op', ['maskLogits'], proveInFlight),
];

/** Ops filled by core, on a driver with missing ops: the same values in every way to run a plan. */
export const filled: Suite = ({ driver, backend }) => [
  ...optional.filter((op) => driver.manifest.ops[op]).map(samplesOf),
  ...refused.map(refusalOf),
  decoder,
  parts,
  on('an index out of range in a host op', ['sample'], proveErrors),
  ...(backend.graph ? replayed : []),
  ...(backend.timer ? [on('times with a host op', ['maskLogits'], proveTimes)] : []),
];
