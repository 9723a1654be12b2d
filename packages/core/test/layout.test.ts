import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import { recordOps as b } from '../src/generated/ops.js';
import type { Tensor } from '../src/index.js';
import { type Layout, type LayoutOptions, layOut, lifetimes } from '../src/plan/layout.js';
import type { Plan, Storage } from '../src/plan/plan.js';
import type { Recorder } from '../src/recorder.js';
import { fuse, input, Planner } from './planning.js';

const planner = new Planner();

/** One random step: its op, its operands among the tensors so far, its size, kept or not. */
const choice = fc.record({
  op: fc.nat(6),
  of: fc.nat(1000),
  other: fc.nat(1000),
  rows: fc.integer({ min: 0, max: 40 }),
  keep: fc.boolean(),
});
type Choice = typeof choice extends fc.Arbitrary<infer Value> ? Value : never;

function grow(step: Recorder, tensors: readonly Tensor[], { op, of, other, rows }: Choice): Tensor {
  const x = tensors[of % tensors.length]!;
  const mates = tensors.filter(({ shape }) => shape.join() === x.shape.join());
  const mate = mates[other % mates.length]!;
  const half = Math.floor(x.shape[0]! / 2);
  if (op === 0) return b.add(x, mate);
  if (op === 1) return b.rmsNorm(x, planner.weight([x.shape[1]!]), { eps: 0 });
  if (op === 2) return b.slice(x, half, x.shape[0]!);
  if (op === 3) return b.topK(x, x.shape[1]!).values;
  if (op === 4) return b.gatherRows(x, step.input(new Int32Array(rows)));
  if (op === 5) return b.linear(x, planner.weight([rows + 1, x.shape[1]!]));
  return b.swiglu(x, mate);
}

const randomPlan = (choices: readonly Choice[]): Plan =>
  planner.plan((step) => {
    const tensors = [input(step, 7, 9)];
    for (const one of choices) {
      const made = grow(step, tensors, one);
      if (one.keep) step.keep(made);
      tensors.push(made);
    }
  });

/** First and last op that touches a storage. */
function life({ ops }: Plan, storage: Storage): [first: number, last: number] | undefined {
  const touching = ops.flatMap((op, i) =>
    [...op.operands, ...op.outputs].some((o) => o?.kind === 'tensor' && o.storage === storage) ? [i] : [],
  );
  return touching.length ? [touching[0]!, touching[touching.length - 1]!] : undefined;
}

/** The lifetimes told to the driver equal the plan's. */
function proveLifetimes(plan: Plan, layout: Layout): void {
  const rows = lifetimes(plan.ops, layout);
  const told = plan.storages.flatMap((storage) => {
    const place = layout.places.get(storage);
    if (place?.region !== 'arena') return [];
    return [[place.byteOffset, storage.byteLength, ...life(plan, storage)!]];
  });
  const byMaker = told.toSorted((a, z) => a[2]! - z[2]!);
  expect(rows.length).toBe(4 * told.length);
  const got = Array.from({ length: told.length }, (_, i) => [...rows.slice(4 * i, 4 * i + 4)]);
  expect(got.toSorted((a, z) => a[2]! - z[2]! || a[0]! - z[0]!)).toEqual(
    byMaker.toSorted((a, z) => a[2]! - z[2]! || a[0]! - z[0]!),
  );
}

function proveLayout(plan: Plan, options: LayoutOptions): void {
  const { guard = 0 } = options;
  const layout = layOut(plan, options);
  proveLifetimes(plan, layout);
  const sizes = { arena: layout.arenaBytes, inputs: layout.inputsBytes, outputs: layout.outputsBytes };
  const placed = plan.storages.flatMap((storage) => {
    const place = layout.places.get(storage);
    const lived = life(plan, storage);
    if (!place) expect(lived).toBeUndefined(); // only a storage removed by fusion has no place
    return place ? [{ storage, ...place, end: place.byteOffset + storage.byteLength, life: lived }] : [];
  });
  for (const { storage, region, byteOffset, end } of placed) {
    expect(region).toBe(storage.isInput ? 'inputs' : storage.kept ? 'outputs' : 'arena');
    expect(byteOffset % 64).toBe(0);
    expect(end).toBeLessThanOrEqual(sizes[region] - (region === 'outputs' ? guard : 0));
  }
  for (const [i, a] of placed.entries())
    for (const z of placed.slice(0, i)) {
      if (a.region !== z.region || a.storage.byteLength === 0 || z.storage.byteLength === 0) continue;
      const gap = Math.max(a.byteOffset - z.end, z.byteOffset - a.end);
      const shared = a.region === 'arena' && options.placing !== 'driver';
      const together = !shared || (a.life![0] <= z.life![1] && z.life![0] <= a.life![1]);
      if (together) expect(gap).toBeGreaterThanOrEqual(a.region === 'outputs' ? guard : 0);
    }
}

test('tensors with overlapping lifetimes never share memory, fused or not, guarded or not; with driver placing no tensors share', () => {
  fc.assert(
    fc.property(fc.array(choice, { maxLength: 30 }), fc.constantFrom(0, 64, 256), (choices, guard) => {
      const plan = randomPlan(choices);
      const fused = fuse(plan, () => true);
      for (const placing of ['core', 'driver'] as const) {
        proveLayout(plan, { guard, placing });
        proveLayout(fused, { guard, placing });
      }
    }),
    { numRuns: runs(150) },
  );
});

test('a chain takes the memory of two of its tensors', () => {
  const plan = planner.plan((step) => {
    let x = input(step, 16, 16);
    for (let i = 0; i < 50; i++) x = b.silu(x);
  });
  expect(layOut(plan).arenaBytes).toBe(2 * 1024);
});

test('memory freed in any order merges into one range', () => {
  const plan = planner.plan((step) => {
    const x = input(step, 1, 16);
    const parts = Array.from({ length: 8 }, (_, i) => b.scale(x, i));
    const sum = [3, 1, 7, 5, 0, 2, 6, 4].reduce((all, i) => b.add(all, parts[i]!), x);
    b.silu(b.gatherRows(sum, step.input(new Int32Array(9)))); // as large as the parts and a sum together
  });
  expect(layOut(plan).arenaBytes).toBeLessThanOrEqual(10 * 64);
});

/** A product, the norm of its sum with a residual, and a product behind it: the memory, and whether the sum lies over x. */
function epilogue(rows: number): { readonly bytes: number; readonly overlaps: boolean } {
  const recorded = planner.plan((step) => {
    const residual = input(step, rows, 16);
    const sum = b.add(residual, b.linear(b.silu(residual), planner.weight([16, 16])));
    b.add(b.linear(b.rmsNorm(sum, planner.weight([16]), { eps: 0 }), planner.weight([16, 16])), sum);
  });
  const plan = fuse(recorded, () => true);
  const layout = layOut(plan);
  const [{ outputs }, , { outputs: sums }] = [plan.ops[0]!, plan.ops[1]!, plan.ops[2]!];
  const [x, sum] = [outputs[0]!, sums[0]!].map(({ storage }) => layout.places.get(storage)!.byteOffset);
  return { bytes: layout.arenaBytes, overlaps: Math.abs(x! - sum!) < rows * 64 };
}

test('few rows: the sum of a norm lies apart from x of the product before it, for one tensor more', () => {
  expect(epilogue(8)).toEqual({ bytes: 4 * 8 * 64, overlaps: false });
  expect(epilogue(9)).toEqual({ bytes: 3 * 9 * 64, overlaps: true });
});

test('a view keeps the memory of its tensor', () => {
  const plan = planner.plan((step) => {
    const x = b.silu(input(step, 4, 16));
    const view = b.slice(x, 1, 2);
    const y = b.scale(b.scale(input(step, 4, 16), 2), 3);
    b.add(view, b.slice(y, 0, 1));
  });
  proveLayout(plan, {});
});
