import type { Backend, KvBuffer, Step, Tensor } from '@quern/core';
import type { Case, Suite } from '../case.js';
import { fresh, loadValues } from '../ops/fresh.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('abort');

/** A chain of `ops` products [rows, width] · [width, width]. */
interface Size {
  readonly ops: number;
  readonly rows: number;
  readonly width: number;
}

interface LongStep {
  readonly step: Step;
  /** [1, 2, 1, width]: the first token is appended before all other ops, the second after them. */
  readonly marks: KvBuffer;
}

const ofOps = (ops: number): Size => ({ ops, rows: 8, width: 128 });

/** A step that computes such a chain; all values are 1. */
async function longStep(backend: Backend, { ops, rows, width }: Size): Promise<LongStep> {
  const weight = await loadValues(backend, new Float32Array(width * width).fill(1 / width), [width, width]);
  const cache = () => backend.kvBuffer({ blocks: 1, blockSize: 2, heads: 1, headDim: width, dtype: 'f32' });
  const layer = { k: cache(), v: cache() };
  const step = backend.step();
  const mark = (of: Tensor, slot: number) => {
    const token = backend.view(backend.slice(of, 0, 1), [1, 1, width]);
    backend.kvAppend(layer, token, token, step.input(Int32Array.of(slot)));
  };
  let y: Tensor = step.input(new Float32Array(rows * width).fill(1), [rows, width]);
  mark(y, 0);
  for (let i = 0; i < ops; i++) y = backend.linear(y, weight);
  mark(y, 1);
  return { step, marks: layer.k };
}

/** How far an aborted run has come. */
interface Progress {
  readonly aborted: boolean;
  readonly begun: boolean;
  readonly ended: boolean;
}

/** Runs a step; its signal aborts after `milliseconds`. */
async function interrupted(backend: Backend, size: Size, milliseconds: number): Promise<Progress> {
  const { step, marks } = await longStep(backend, size);
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), milliseconds);
  const running = step.run({ signal: controller.signal });
  const [end] = await Promise.allSettled([running]);
  clearTimeout(timer);
  if (end.status === 'rejected') await refusal('ABORTED', () => running);
  const bytes = await marks.readBlocks(0, 1);
  const tokens = new Float32Array(bytes.slice().buffer);
  return { aborted: end.status === 'rejected', begun: tokens[0] !== 0, ended: tokens[size.width] !== 0 };
}

/** Milliseconds of a step of this size. */
async function durationOf(backend: Backend, size: Size): Promise<number> {
  const { step } = await longStep(backend, size);
  const start = performance.now();
  await step.run();
  return performance.now() - start;
}

/** Parts of a step's duration after which its signal aborts. */
const moments = [1 / 8, 1 / 4, 1 / 2];

/** Whether a step of this size ends in its middle, and its milliseconds without a signal. */
async function stopsMidway(backend: Backend, size: Size): Promise<{ stops: boolean; duration: number }> {
  const duration = await durationOf(backend, size);
  for (const moment of moments) {
    const { aborted, begun } = await interrupted(backend, size, moment * duration);
    if (aborted && begun) return { stops: true, duration };
  }
  return { stops: false, duration };
}

/** Milliseconds: a signal falls into the middle of a longer step, however late timers are. */
const surelyLong = 1000;

/**
 * Steps that must end in their middle. 'op': fewer ops than a segment, so a driver that looks between segments never stops. 'segment':
 * more ops than a segment. More rows make the step longer on a fast device.
 */
const interruptible = {
  op: { ops: 24, width: 128, rows: [8, 64, 512, 4096, 32_768] },
  segment: { ops: 1000, width: 32, rows: [1, 8, 64, 512, 8192, 131_072, 1_048_576] },
} as const;

const midway = (granularity: keyof typeof interruptible): Case => {
  const { ops, width, rows } = interruptible[granularity];
  return on(`a signal while a step of ${ops} ops runs`, async (backend) => {
    const tried: number[] = [];
    for (const count of rows) {
      const { stops, duration } = await stopsMidway(backend, { ops, rows: count, width });
      if (stops) return proveUsable(backend);
      tried.push(count);
      if (duration > surelyLong) break;
    }
    throw new Error(
      `profile.abort is '${granularity}', but steps of ${ops} ops on ${tried.join(', ')} rows went on after their signal`,
    );
  });
};

/** A step resolves after its last op, or rejects before its first: the cache has both tokens or none. */
const toItsEnd: Case = on('a signal while a step runs to its end', async (backend) => {
  for (const size of [ofOps(24), ofOps(400)]) {
    const duration = await durationOf(backend, size);
    for (const moment of [0, ...moments, 3 / 4]) {
      const { aborted, begun, ended } = await interrupted(backend, size, moment * duration);
      ensure(
        aborted ? !begun : ended,
        `profile.abort is 'step', but a step of ${size.ops} ops ${aborted ? 'was aborted after it had begun' : 'resolved before its end'}`,
      );
    }
  }
  await proveUsable(backend);
});

const always: readonly Case[] = [
  on('a signal that has been aborted', async (backend) => {
    const { step } = await longStep(backend, ofOps(2));
    await refusal('ABORTED', () => step.run({ signal: AbortSignal.abort() }));
    await proveUsable(backend);
  }),
  on('a signal while the step waits for another', async (backend) => {
    const [first, second] = [await longStep(backend, ofOps(50)), await longStep(backend, ofOps(2))];
    const controller = new AbortController();
    const running = Promise.allSettled([first.step.run(), second.step.run({ signal: controller.signal })]);
    controller.abort();
    const [, waiting] = await running;
    await refusal('ABORTED', () =>
      waiting!.status === 'rejected' ? Promise.reject(waiting!.reason) : undefined,
    );
    await proveUsable(backend);
  }),
];

/** AbortSignals before and during a run. `profile.abort` says where a run may end. */
export const abort: Suite = ({ backend }) => {
  const { abort: granularity = 'op' } = backend.profile;
  return [...always, granularity === 'step' ? toItsEnd : midway(granularity)];
};
