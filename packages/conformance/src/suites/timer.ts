import { type Backend, need } from '@quern/core';
import type { Suite } from '../case.js';
import { floats, fresh, loadValues } from '../ops/fresh.js';
import { ensure } from '../values/refusal.js';

const on = fresh('timer');

/** Milliseconds of a product of n × n matrices: as reported by the driver, and of the whole run. */
async function timeProduct(backend: Backend, n: number): Promise<{ reported: number; took: number }> {
  need(backend, 'timer');
  const weight = await loadValues(backend, new Float32Array(n * n).fill(1), [n, n]);
  const step = backend.step();
  backend.linear(step.input(new Float32Array(n * n).fill(1), [n, n]), weight);
  const start = performance.now();
  const times = await backend.timer.run(step);
  const took = performance.now() - start;
  weight.dispose();
  return { reported: times[0]!.milliseconds, took };
}

/** n of n × n matrices, up to a size with a measurable time on any clock. */
const sizes = [64, 256, 512];

/** One time for each op of the run. */
export const timer: Suite = (lab) => {
  if (!lab.backend.timer) return [];
  return [
    on('a time for each op, in order', async (backend) => {
      need(backend, 'timer');
      const weight = await loadValues(backend, floats(1, 2, 3, 4), [2, 2]);
      const step = backend.step();
      const y = backend.linear(step.input(floats(1, 2), [1, 2]), weight);
      backend.softmax(backend.silu(y));
      const times = await backend.timer.run(step);
      const ops = times.map(({ op }) => op).join();
      ensure(ops === 'linear,silu,softmax', `the ops should be linear,silu,softmax; got ${ops}`);
      for (const { op, milliseconds } of times)
        ensure(milliseconds >= 0 && milliseconds < 60_000, `${op} cannot have taken ${milliseconds} ms`);
    }),
    on('work takes time, and an op no longer than its run', async (backend) => {
      const reported: number[] = [];
      for (const n of sizes) {
        const product = await timeProduct(backend, n);
        ensure(
          product.reported <= product.took,
          `linear reports ${product.reported} ms in a run of ${product.took} ms: times must be milliseconds`,
        );
        if (product.reported > 0) return;
        reported.push(product.reported);
      }
      throw new Error(`products of ${sizes.join(', ')} rows report ${reported.join(', ')} ms`);
    }),
    on('no ops, no times', async (backend) => {
      need(backend, 'timer');
      const times = await backend.timer.run(backend.step());
      ensure(times.length === 0, `a step without ops should give no times; got ${times.length}`);
    }),
  ];
};
