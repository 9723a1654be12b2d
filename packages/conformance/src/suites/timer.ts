import { need } from '@quern/core';
import type { Suite } from '../case.js';
import { floats, fresh, loadValues } from '../ops/fresh.js';
import { ensure } from '../values/refusal.js';

const on = fresh('timer');

/** One time for each op that ran. */
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
    on('no ops, no times', async (backend) => {
      need(backend, 'timer');
      const times = await backend.timer.run(backend.step());
      ensure(times.length === 0, `a step without ops should give no times; got ${times.length}`);
    }),
  ];
};
