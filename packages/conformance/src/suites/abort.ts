import type { Backend, Step, Tensor } from '@quern/core';
import type { Suite } from '../case.js';
import { fresh, loadValues } from '../ops/fresh.js';
import { refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('abort');

async function longStep(backend: Backend, ops: number): Promise<Step> {
  const weight = await loadValues(backend, new Float32Array(64 * 64).fill(1 / 64), [64, 64]);
  const step = backend.step();
  let y: Tensor = step.input(new Float32Array(8 * 64).fill(1), [8, 64]);
  for (let i = 0; i < ops; i++) y = backend.linear(y, weight);
  return step;
}

/** Aborts a running step. Returns false if the step had already ended. */
async function abortsMidway(backend: Backend, ops: number): Promise<boolean> {
  const step = await longStep(backend, ops);
  const controller = new AbortController();
  const running = step.run({ signal: controller.signal });
  const ended = running.then(
    () => true,
    () => false,
  );
  setImmediate(() => controller.abort());
  if (await ended) return false;
  await refusal('ABORTED', () => running);
  return true;
}

/** AbortSignals before and during a run. */
export const abort: Suite = () => [
  on('a signal that has been aborted', async (backend) => {
    const step = await longStep(backend, 2);
    await refusal('ABORTED', () => step.run({ signal: AbortSignal.abort() }));
    await proveUsable(backend);
  }),
  on('a signal while the step waits for another', async (backend) => {
    const [first, second] = [await longStep(backend, 50), await longStep(backend, 2)];
    const controller = new AbortController();
    const running = Promise.allSettled([first.run(), second.run({ signal: controller.signal })]);
    controller.abort();
    const [, waiting] = await running;
    await refusal('ABORTED', () =>
      waiting!.status === 'rejected' ? Promise.reject(waiting!.reason) : undefined,
    );
    await proveUsable(backend);
  }),
  on('a signal while the step runs', async (backend) => {
    const sizes = [500, 4000, 32_000, 128_000];
    for (const ops of sizes)
      if ((await abortsMidway(backend, ops)) || backend.profile.abort === 'step') {
        await proveUsable(backend);
        return;
      }
    throw new Error(`runs of ${sizes.join(', ')} ops all ended before they saw their signal`);
  }),
];
