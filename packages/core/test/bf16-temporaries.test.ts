import { recordOps as b } from '../src/generated/ops.js';
import {
  type CoreOpName,
  type Manifest,
  type OpSupport,
  operandWords,
  type Tensor,
  type Weight,
} from '../src/index.js';
import { bf16Temporaries, storesBf16 } from '../src/plan/bf16-temporaries.js';
import { encodePlan } from '../src/plan/encode.js';
import { layOut } from '../src/plan/layout.js';
import type { Recorder } from '../src/recorder.js';
import { definitionDriver } from './definition-driver.js';
import { input, Planner } from './planning.js';

const planner = new Planner();
const plain = definitionDriver().manifest;

const claims: Partial<Record<CoreOpName, Pick<OpSupport, 'rounds' | 'stores'>>> = {
  silu: { stores: ['bf16'] },
  linear: { rounds: { x: ['bf16'] }, stores: ['bf16'] },
};

const manifest: Manifest = {
  ...plain,
  ops: Object.fromEntries(
    Object.entries(plain.ops).map(([name, support]) => [name, { ...support, ...claims[name as CoreOpName] }]),
  ) as Manifest['ops'],
};

/** Shapes of the temporaries stored as bf16. */
function halved(record: (step: Recorder) => void): string[] {
  const plan = planner.plan(record);
  const chosen = bf16Temporaries(plan, manifest);
  const outputs = plan.ops.flatMap(({ outputs }) => outputs);
  return outputs.filter(({ storage }) => chosen.has(storage)).map(({ shape }) => shape.join('x'));
}

const bf16 = (N: number, K: number): Weight => planner.weight([N, K], 'bf16');

test('a temporary is stored as bf16 if all its readers round it', () => {
  expect(halved((step) => b.linear(b.silu(input(step, 2, 4)), bf16(3, 4)))).toEqual(['2x4']);
  expect(
    halved((step) => {
      const x = b.silu(input(step, 2, 4));
      b.linear(x, bf16(3, 4));
      b.linear(b.slice(x, 1, 2), bf16(5, 4), { bias: planner.weight([5]) });
    }),
  ).toEqual(['2x4']);
});

const stays: Readonly<Record<string, (step: Recorder) => void>> = {
  'with a reader that does not round': (step) => {
    const x = b.silu(input(step, 2, 4));
    b.add(b.linear(x, bf16(4, 4)), x);
  },
  'with a reader that rounds only with other weights': (step) =>
    b.linear(b.silu(input(step, 2, 4)), planner.weight([3, 4])),
  'that its op cannot store': (step) => b.linear(b.tanh(input(step, 2, 4)), bf16(3, 4)),
  'that is kept': (step) => {
    const x = b.silu(input(step, 2, 4));
    step.keep(x);
    b.linear(x, bf16(3, 4));
  },
  'that is an input': (step) => b.linear(input(step, 2, 4), bf16(3, 4)),
};

test.each(Object.entries(stays))('a tensor %s stays f32', (_, record) => {
  expect(halved(record)).toEqual([]);
});

test('a bf16 temporary takes half the bytes; its operands and slices have dtype bf16', () => {
  let x: Tensor | undefined;
  const plan = planner.plan((step) => {
    x = b.silu(input(step, 64, 16));
    b.linear(b.slice(x, 3, 64), bf16(3, 16));
  });
  const layout = layOut(plan, { bf16: bf16Temporaries(plan, manifest) });
  expect(layout.arenaBytes).toBe(2 * 64 * 16);
  const { words, lifetimes } = encodePlan(plan.ops, layout);
  expect([...lifetimes]).toEqual([0, 2 * 64 * 16, 0, 1]);
  const [made, read] = [16 + 4 + operandWords, 16 + words[17]! + 4 + 1];
  expect(words[made + 4]).toBe(2);
  expect([words[read + 2], words[read + 4]]).toEqual([2 * 3 * 16, 2]);
});

test('a driver without bf16 stores skips the pass', () => {
  expect([storesBf16(plain), storesBf16(manifest)]).toEqual([false, true]);
});
