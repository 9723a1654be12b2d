import type { KvLayer } from '@quern/core';
import type { Suite } from '../case.js';
import { cacheOfBytes, fresh, loadValues, oneToken, floats as values } from '../ops/fresh.js';
import { bytesOf } from '../values/numbers.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('lifecycle');

/** Dispose once, twice, too early; and what must still work afterwards. */
export const lifecycle: Suite = () => [
  on('everything can be disposed twice', async (backend) => {
    const [weight, buffer, step] = [
      await loadValues(backend, values(1)),
      backend.kvBuffer(oneToken),
      backend.step(),
    ];
    for (const held of [weight, buffer, step, backend]) {
      held.dispose();
      held.dispose();
    }
    ensure(weight.disposed && buffer.disposed && backend.disposed, 'disposed should be true');
  }),
  on('a weight and a buffer after dispose', async (backend) => {
    const [weight, buffer] = [await loadValues(backend, values(1, 2)), backend.kvBuffer(oneToken)];
    const layer: KvLayer = { k: buffer, v: buffer };
    weight.dispose();
    buffer.dispose();
    const step = backend.step();
    const x = step.input(values(1, 2), [1, 1, 2]);
    await refusal('DISPOSED', () => backend.rmsNorm(x, weight, { eps: 0 }));
    await refusal('DISPOSED', () => backend.kvAppend(layer, x, x, step.input(Int32Array.of(0))));
    await refusal('DISPOSED', () => buffer.readBlocks(0));
    await refusal('DISPOSED', () => buffer.writeBlocks(0, new Uint8Array(8)));
    await proveUsable(backend);
  }),
  on('a weight disposed between recording and running', async (backend) => {
    const weight = await loadValues(backend, values(1, 2));
    const step = backend.step();
    backend.rmsNorm(step.input(values(1, 2), [1, 2]), weight, { eps: 0 });
    weight.dispose();
    await refusal('DISPOSED', () => step.run());
    await proveUsable(backend);
  }),
  on('disposing one weight or buffer leaves the others', async (backend) => {
    const [a, b] = [await loadValues(backend, values(1, 2)), await loadValues(backend, values(3, 4))];
    const [p, q] = [backend.kvBuffer(oneToken), backend.kvBuffer(oneToken)];
    await q.writeBlocks(0, bytesOf(values(5, 6)));
    a.dispose();
    p.dispose();
    const step = backend.step();
    const y = backend.rmsNorm(step.input(values(1, -1), [1, 2]), b, { eps: 0 });
    ensure((await step.read(y)).join() === '3,-4', 'the other weight should not change');
    ensure(
      new Float32Array((await q.readBlocks(0)).buffer).join() === '5,6',
      'the other buffer should not change',
    );
  }),
  on('a step after dispose', async (backend) => {
    const step = backend.step();
    const x = step.input(values(1));
    step.dispose();
    await refusal('DISPOSED', () => step.input(values(1)));
    await refusal('DISPOSED', () => backend.silu(x));
    await refusal('DISPOSED', () => step.run());
    await refusal('DISPOSED', () => step.read(x));
    await proveUsable(backend);
  }),
  on('a backend after dispose', async (backend) => {
    const [weight, buffer, step] = [
      await loadValues(backend, values(1)),
      backend.kvBuffer(oneToken),
      backend.step(),
    ];
    const x = step.input(values(1), [1, 1]);
    backend.dispose();
    await refusal('DISPOSED', () => backend.step());
    await refusal('DISPOSED', () => backend.kvBuffer(oneToken));
    await refusal('DISPOSED', () => loadValues(backend, values(1)));
    await refusal('DISPOSED', () => backend.linear(x, weight));
    await refusal('DISPOSED', () => step.run());
    await refusal('DISPOSED', () => buffer.readBlocks(0));
    weight.dispose();
    buffer.dispose();
  }),
  on('a buffer starts zeroed, also in freed memory', async (backend) => {
    for (let round = 0; round < 3; round++) {
      const buffer = cacheOfBytes(backend, 4096);
      const bytes = await buffer.readBlocks(0);
      ensure(
        bytes.every((byte) => byte === 0),
        `the buffer of round ${round} is not zeroed`,
      );
      await buffer.writeBlocks(0, new Uint8Array(4096).fill(0xab));
      buffer.dispose();
    }
  }),
];
