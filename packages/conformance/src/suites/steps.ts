import type { Backend, Step, Tensor } from '@quern/core';
import type { Suite } from '../case.js';
import { floats, fresh, loadValues, oneToken } from '../ops/fresh.js';
import { ensure, refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';

const on = fresh('steps');

/** Records x → 2x → 2x + x … in one step, a few ops at a time. */
class Doubling {
  readonly step: Step;
  readonly x: Tensor;
  private y: Tensor;

  constructor(
    private readonly backend: Backend,
    private readonly start: number,
  ) {
    this.step = backend.step();
    this.x = this.step.input(floats(start, -start));
    this.y = this.x;
  }

  grow(): void {
    this.y = this.backend.add(this.backend.scale(this.y, 2), this.x);
  }

  /** After n rounds y is (2^(n+1) − 1) · x. */
  async prove(rounds: number): Promise<void> {
    const want = (2 ** (rounds + 1) - 1) * this.start;
    const got = Array.from(await this.step.read(this.y));
    ensure(got.join() === `${want},${-want}`, `should give ${want},${-want}; got ${got.join()}`);
  }
}

/** Ownership of tensors, and when a step may run. */
export const steps: Suite = () => [
  on('a tensor of another step', async (backend) => {
    const [a, b] = [backend.step(), backend.step()];
    const [x, y] = [a.input(floats(1)), b.input(floats(2))];
    await refusal('WRONG_STEP', () => backend.add(x, y));
    await refusal('WRONG_STEP', () => b.keep(x));
    await refusal('WRONG_STEP', () => a.read(y));
    await proveUsable(backend);
  }),
  on('a weight, a buffer or a tensor of another backend', async (backend, lab) => {
    const other = await lab.open();
    const weight = await loadValues(other, floats(1, 2), [1, 2]);
    const buffer = other.kvBuffer(oneToken);
    const step = backend.step();
    const x = step.input(floats(1, 2), [1, 2]);
    const k = step.input(floats(1, 2), [1, 1, 2]);
    await refusal('WRONG_STEP', () => backend.linear(x, weight));
    await refusal('WRONG_STEP', () =>
      backend.kvAppend({ k: buffer, v: buffer }, k, k, step.input(Int32Array.of(0))),
    );
    await refusal('WRONG_STEP', () => backend.add(x, other.step().input(floats(1, 2), [1, 2])));
  }),
  on('a step runs once', async (backend) => {
    const step = backend.step();
    const y = backend.scale(step.input(floats(3)), 2);
    await step.run();
    await refusal('STEP_FINISHED', () => step.run());
    await refusal('STEP_FINISHED', () => backend.silu(y));
    await refusal('STEP_FINISHED', () => step.input(floats(1)));
    await refusal('STEP_FINISHED', () => step.keep(y));
    ensure((await step.read(y))[0] === 6, 'the result should still be there');
  }),
  on('a tensor without keep', async (backend) => {
    const step = backend.step();
    const inner = backend.scale(step.input(floats(3)), 2);
    const outer = backend.scale(inner, 2);
    await step.run();
    await refusal('NOT_KEPT', () => step.read(inner));
    ensure((await step.read(outer))[0] === 12, 'the last tensor should be readable');
  }),
  on('a kept tensor survives the ops after it', async (backend) => {
    const step = backend.step();
    const inner = backend.scale(step.input(floats(3)), 2);
    step.keep(inner);
    let y = inner;
    for (let i = 0; i < 8; i++) y = backend.add(y, y);
    await step.run();
    ensure((await step.read(inner))[0] === 6, 'the kept tensor should not change');
    ensure((await step.read(y))[0] === 6 * 256, 'the last tensor should be right');
  }),
  on('two steps recorded in alternation', async (backend) => {
    const [a, b] = [new Doubling(backend, 1), new Doubling(backend, 5)];
    for (let i = 0; i < 12; i++) for (const doubling of [a, b]) doubling.grow();
    await Promise.all([b.prove(12), a.prove(12)]);
  }),
  on('equal steps with different inputs', async (backend) => {
    const alike = [1, 5, 7].map((start) => new Doubling(backend, start));
    for (const doubling of alike) doubling.grow();
    for (const doubling of alike) await doubling.prove(1);
  }),
  on('many steps run at once', async (backend) => {
    const doublings = Array.from({ length: 16 }, (_, i) => new Doubling(backend, i + 1));
    for (const [i, doubling] of doublings.entries()) for (let n = 0; n <= i; n++) doubling.grow();
    await Promise.all(doublings.map((doubling, i) => doubling.prove(i + 1)));
  }),
  on('a weight disposed while its step runs', async (backend) => {
    const weight = await loadValues(backend, floats(1, 0, 0, 1), [2, 2]);
    const step = backend.step();
    let y: Tensor = step.input(floats(7, 8), [1, 2]);
    for (let i = 0; i < 50; i++) y = backend.linear(y, weight);
    step.keep(y);
    const running = step.run();
    weight.dispose();
    await running;
    ensure((await step.read(y)).join() === '7,8', 'a running step should keep its weights');
    await proveUsable(backend);
  }),
  on('a backend disposed while a step runs', async (backend) => {
    const step = backend.step();
    let y: Tensor = step.input(new Float32Array(1000).fill(1));
    for (let i = 0; i < 200; i++) y = backend.silu(y);
    const running = step.run().then(
      () => 'ran',
      (error) => String(error?.code),
    );
    backend.dispose();
    const end = await running;
    ensure(
      end === 'ran' || end === 'DISPOSED',
      `the run should end, or be refused with DISPOSED; got ${end}`,
    );
    await refusal('DISPOSED', () => backend.step());
  }),
];
