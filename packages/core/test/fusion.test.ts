import { recordOps as b } from '../src/generated/ops.js';
import { fusedOps, type Tensor } from '../src/index.js';
import type { Plan } from '../src/plan/plan.js';
import type { Recorder } from '../src/recorder.js';
import { fuse, indices, input, names, Planner } from './planning.js';

const planner = new Planner();
const w = (...shape: number[]) => planner.weight(shape);
const eps = Math.fround(1e-6);

/** Names of the ops after fusion with every fused op. */
const fused = (record: (step: Recorder) => void): string[] => names(fuse(planner.plan(record), () => true));

/** Every op comes after the ops that make its operands. */
function proveOrder(plan: Plan): void {
  const made = new Set(plan.storages.filter(({ isInput }) => isInput));
  for (const { op, operands, outputs } of plan.ops) {
    for (const operand of operands)
      if (operand?.kind === 'tensor' && !made.has(operand.storage))
        throw new Error(`${op.name} comes before what it needs, in ${names(plan)}`);
    for (const { storage } of outputs) made.add(storage);
  }
}

describe('add + rmsNorm', () => {
  const sum = (step: Recorder) => b.add(input(step, 3, 8), input(step, 3, 8));

  test('is fused, and the sum stays', () => {
    const plan = planner.plan((step) => {
      const x = sum(step);
      b.linear(b.rmsNorm(x, w(8), { eps }), w(4, 8));
      b.silu(x);
    });
    const after = fuse(plan, () => true);
    expect(names(after)).toEqual(['addRmsNorm', 'linear', 'silu']);
    expect(after.ops[0]!.outputs).toHaveLength(2);
    expect(after.ops[0]!.attributes).toEqual([eps]);
    proveOrder(after);
  });

  test('is fused even if the sum is kept, because the sum stays', () => {
    const record = (step: Recorder) => {
      const x = sum(step);
      step.keep(x);
      b.rmsNorm(x, w(8), { eps });
    };
    expect(fused(record)).toEqual(['addRmsNorm']);
  });

  test('is not fused if b is one row, or if the norm reads another shape', () => {
    const row = (step: Recorder) => b.rmsNorm(b.add(input(step, 3, 8), input(step, 8)), w(8), { eps });
    expect(fused(row)).toEqual(['add', 'rmsNorm']);
    const viewed = (step: Recorder) => b.rmsNorm(b.view(sum(step), [6, 4]), w(4), { eps });
    expect(fused(viewed)).toEqual(['add', 'rmsNorm']);
    const part = (step: Recorder) => b.rmsNorm(b.slice(sum(step), 1, 3), w(8), { eps });
    expect(fused(part)).toEqual(['add', 'rmsNorm']);
  });

  test('a second norm of the same sum stays', () => {
    const record = (step: Recorder) => {
      const x = sum(step);
      b.rmsNorm(x, w(8), { eps });
      b.rmsNorm(x, w(8), { eps });
    };
    expect(fused(record)).toEqual(['addRmsNorm', 'rmsNorm']);
  });
});

describe('gate + up + swiglu', () => {
  const record =
    (change: { bias?: boolean; keep?: boolean; reuse?: boolean; otherInput?: boolean } = {}) =>
    (step: Recorder) => {
      const x = input(step, 3, 8);
      const gate = b.linear(x, w(5, 8), { bias: change.bias ? w(5) : undefined });
      const up = b.linear(change.otherInput ? input(step, 3, 8) : x, w(5, 8));
      if (change.keep) step.keep(gate);
      b.swiglu(gate, up);
      if (change.reuse) b.silu(up);
    };

  test('is fused', () => expect(fused(record())).toEqual(['gateUpSwiglu']));
  test.each([{ bias: true }, { keep: true }, { otherInput: true }])('is not fused with %p', (change) =>
    expect(fused(record(change))).toEqual(['linear', 'linear', 'swiglu']),
  );
  test('is not fused when a product is used again', () =>
    expect(fused(record({ reuse: true }))).toEqual(['linear', 'linear', 'swiglu', 'silu']));

  test('is not fused when gate and up are one product', () => {
    const square = (step: Recorder) => {
      const y = b.linear(input(step, 3, 8), w(5, 8));
      b.swiglu(y, y);
    };
    expect(fused(square)).toEqual(['linear', 'swiglu']);
  });

  test('is not fused when the products have different shapes', () => {
    const viewed = (step: Recorder) => {
      const x = input(step, 2, 6);
      const gate = b.linear(x, w(6, 6)); // [2, 6]
      const up = b.linear(b.view(x, [3, 4]), w(4, 4)); // [3, 4]
      b.swiglu(gate, b.view(up, [2, 6]));
    };
    expect(fused(viewed)).toEqual(['linear', 'linear', 'swiglu']);
  });
});

describe('three projections of one input', () => {
  const project = (step: Recorder, count: number) => {
    const x = input(step, 3, 8);
    return Array.from({ length: count }, (_, i) => b.linear(x, w(4 + i, 8)));
  };

  test('are fused', () => expect(fused((step) => project(step, 3))).toEqual(['qkvLinear']));
  test.each([2, 4])('%p are not', (count) =>
    expect(fused((step) => project(step, count))).toEqual(Array(count).fill('linear')),
  );

  test('are fused when kept: the results are the same tensors', () => {
    expect(fused((step) => project(step, 3).forEach((y) => step.keep(y)))).toEqual(['qkvLinear']);
  });

  test('are fused before the ops between them', () => {
    const plan = planner.plan((step) => {
      const x = input(step, 3, 8);
      const q = b.silu(b.linear(x, w(4, 8)));
      const k = b.silu(b.linear(x, w(4, 8)));
      b.add(b.add(q, k), b.linear(x, w(4, 8)));
    });
    const after = fuse(plan, () => true);
    expect(names(after)).toEqual(['qkvLinear', 'silu', 'silu', 'add', 'add']);
    proveOrder(after);
  });

  test('are not fused when one reads the input in another shape', () => {
    const record = (step: Recorder) => {
      const x = input(step, 2, 6);
      b.linear(x, w(4, 6));
      b.linear(x, w(4, 6));
      b.linear(b.view(x, [3, 4]), w(4, 4));
    };
    expect(fused(record)).toEqual(['linear', 'linear', 'linear']);
  });
});

describe('add + layerNorm', () => {
  test('is fused, and the sum stays for other ops', () => {
    const record = (step: Recorder) => {
      const x = b.add(input(step, 3, 8), input(step, 3, 8));
      b.add(b.linear(b.layerNorm(x, w(8), w(8), { eps }), w(8, 8)), x);
    };
    const after = fuse(planner.plan(record), () => true);
    expect(names(after)).toEqual(['addLayerNorm', 'linear', 'add']);
    expect(after.ops[0]!.operands).toHaveLength(4);
    expect(after.ops[0]!.attributes).toEqual([eps]);
    proveOrder(after);
  });

  test('is not fused if b is one row', () => {
    const record = (step: Recorder) =>
      b.layerNorm(b.add(input(step, 3, 8), input(step, 8)), w(8), w(8), { eps });
    expect(fused(record)).toEqual(['add', 'layerNorm']);
  });
});

describe('linear + gelu', () => {
  const record =
    (change: { noBias?: boolean; keep?: boolean; viewed?: boolean } = {}) =>
    (step: Recorder) => {
      const up = b.linear(input(step, 3, 8), w(4, 8), change.noBias ? {} : { bias: w(4) });
      if (change.keep) step.keep(up);
      b.gelu(change.viewed ? b.view(up, [4, 3]) : up, { form: 'tanh' });
    };

  test('is fused with its form', () => {
    const after = fuse(planner.plan(record()), () => true);
    expect(names(after)).toEqual(['biasGelu']);
    expect(after.ops[0]!.attributes).toEqual([1, 0]);
    proveOrder(after);
  });
  test.each([
    ['there is no bias', { noBias: true }],
    ['the product is kept', { keep: true }],
    ['gelu reads another shape', { viewed: true }],
  ])('is not fused when %s', (_why, change) => {
    expect(fused(record(change))).toEqual(['linear', 'gelu']);
  });
});

describe('changes by adapters', () => {
  const record =
    (change: { keep?: boolean; otherPlaces?: boolean; row?: boolean } = {}) =>
    (step: Recorder) => {
      const x = input(step, 3, 8);
      const base = change.row ? input(step, 4) : b.linear(x, w(4, 8));
      const ids = step.input(Int32Array.of(1, 0, 1), [3, 1]);
      const others = change.otherPlaces ? step.input(Int32Array.of(1, 1, 1), [3, 1]) : ids;
      const low = b.expertLinear(x, w(2, 5, 8), ids);
      if (change.keep) step.keep(low);
      const high = b.expertLinear(b.view(low, [3, 5]), w(2, 4, 5), others);
      const sum = b.weightedSum(b.view(high, [3, 1, 4]), input(step, 3, 1));
      if (change.row) b.add(sum, base);
      else b.add(base, sum);
    };

  test('are fused', () => {
    const after = fuse(planner.plan(record()), () => true);
    expect(names(after)).toEqual(['linear', 'addLowRank']);
    expect(after.ops[1]!.operands.map((operand) => operand!.shape)).toEqual([
      [3, 4],
      [3, 8],
      [2, 5, 8],
      [2, 4, 5],
      [3, 1],
      [3, 1],
    ]);
    proveOrder(after);
  });
  test.each([
    ['the first product is kept', { keep: true }],
    ['the second product takes other matrices', { otherPlaces: true }],
  ])('are not fused when %s', (_why, change) => {
    expect(fused(record(change))).toEqual(['linear', 'expertLinear', 'expertLinear', 'weightedSum', 'add']);
  });
  test('are not fused with one row for all', () => {
    expect(fused(record({ row: true }))).toEqual(['expertLinear', 'expertLinear', 'weightedSum', 'add']);
  });
});

describe('linear + maskLogits', () => {
  const record =
    (change: { keep?: boolean; batchInvariant?: boolean; bias?: boolean } = {}) =>
    (step: Recorder) => {
      const { batchInvariant = false } = change;
      const logits = b.linear(input(step, 3, 8), w(40, 8), {
        batchInvariant,
        ...(change.bias && { bias: w(40) }),
      });
      if (change.keep) step.keep(logits);
      b.maskLogits(logits, step.input(new Int32Array(6), [3, 2]));
    };

  test('is fused', () => {
    const after = fuse(planner.plan(record()), () => true);
    expect(names(after)).toEqual(['linearMask']);
    expect(after.ops[0]!.operands.map((operand) => operand!.shape)).toEqual([
      [3, 8],
      [40, 8],
      [3, 2],
    ]);
    proveOrder(after);
  });
  test.each([
    ['the logits are kept', { keep: true }],
    ['the product is batch-invariant', { batchInvariant: true }],
    ['there is a bias', { bias: true }],
  ])('is not fused when %s', (_why, change) => {
    expect(fused(record(change))).toEqual(['linear', 'maskLogits']);
  });
});

describe('batchInvariant', () => {
  const marks = [false, true] as const;
  const attributesOf = (record: (step: Recorder) => void) =>
    fuse(planner.plan(record), () => true).ops.map(({ op, attributes }) => [op.name, ...attributes]);

  test.each(marks)('%p: the fused projections keep the attribute of the plain ones', (batchInvariant) => {
    const mark = batchInvariant ? 1 : 0;
    expect(
      attributesOf((step) => {
        const x = input(step, 3, 8);
        b.swiglu(b.linear(x, w(5, 8), { batchInvariant }), b.linear(x, w(5, 8), { batchInvariant }));
      }),
    ).toEqual([['gateUpSwiglu', mark]]);
    expect(
      attributesOf((step) => {
        const x = input(step, 3, 8);
        for (let i = 0; i < 3; i++) b.linear(x, w(4, 8), { batchInvariant });
      }),
    ).toEqual([['qkvLinear', mark]]);
    expect(
      attributesOf((step) =>
        b.gelu(b.linear(input(step, 3, 8), w(4, 8), { bias: w(4), batchInvariant }), { form: 'tanh' }),
      ),
    ).toEqual([['biasGelu', 1, mark]]);
  });

  test.each(marks)('projections with different values (the first: %p) are not fused', (first) => {
    const gated = (step: Recorder) => {
      const x = input(step, 3, 8);
      const gate = b.linear(x, w(5, 8), { batchInvariant: first });
      b.swiglu(gate, b.linear(x, w(5, 8), { batchInvariant: !first }));
    };
    expect(fused(gated)).toEqual(['linear', 'linear', 'swiglu']);
    const three = (step: Recorder) => {
      const x = input(step, 3, 8);
      for (let i = 0; i < 3; i++) b.linear(x, w(4, 8), { batchInvariant: (i === 2) !== first });
    };
    expect(fused(three)).toEqual(['linear', 'linear', 'linear']);
  });

  test('an argmax of a batchInvariant product is not fused', () => {
    const record = (step: Recorder) =>
      b.argmax(b.linear(input(step, 3, 8), w(9, 8), { batchInvariant: true }));
    expect(fused(record)).toEqual(['linear', 'argmax']);
  });
});

describe('q/k norm + rope + append', () => {
  interface Change {
    readonly norms?: 'both' | 'k';
    readonly keepK?: boolean;
    readonly kTheta?: number;
    readonly noAttention?: boolean;
    readonly between?: (
      layer: { k: ReturnType<Planner['buffer']>; v: ReturnType<Planner['buffer']> },
      x: Tensor,
      slots: Tensor,
    ) => void;
  }
  const record =
    ({ norms, keepK, kTheta = 10000, noAttention, between }: Change = {}) =>
    (step: Recorder) => {
      const layer = { k: planner.buffer([1, 8, 2, 4]), v: planner.buffer([1, 8, 2, 4]) };
      const [positions, slots] = [indices(step, 3), indices(step, 3)];
      const [q, k, v] = [input(step, 3, 2, 4), input(step, 3, 2, 4), input(step, 3, 2, 4)];
      const normed = (x: Tensor, on: boolean) => (on ? b.rmsNorm(x, w(4), { eps }) : x);
      const rotate = (x: Tensor, theta: number) => b.rope(x, positions, { theta, layout: 'halves' });
      const queries = rotate(normed(q, norms === 'both'), 10000);
      const keys = rotate(normed(k, norms !== undefined), kTheta);
      if (keepK) step.keep(keys);
      between?.(layer, v, slots);
      b.kvAppend(layer, keys, v, slots);
      const batch = {
        cuSeqlens: indices(step, 2),
        kvLengths: indices(step, 1),
        blockTable: indices(step, 1, 1),
      };
      const config = { heads: 2, kvHeads: 2, headDim: 4, scale: 1, causal: true };
      if (!noAttention) b.attention(queries, layer, { ...batch, positions, slots, lastRows: slots }, config);
    };

  test('is fused', () => expect(fused(record())).toEqual(['ropeTable', 'qkNormRopeAppend', 'attention']));
  test('is fused with the norms', () => {
    const after = fuse(planner.plan(record({ norms: 'both' })), () => true);
    expect(names(after)).toEqual(['ropeTable', 'qkNormRopeAppend', 'attention']);
    expect(after.ops[1]!.attributes).toEqual([eps, 1]);
    proveOrder(after);
  });
  test.each<[string, Change]>([
    ['only one has a norm', { norms: 'k' }],
    ['the keys are kept', { keepK: true }],
    ['q and k have different rotations', { kTheta: 500 }],
    ['no attention reads the cache', { noAttention: true }],
  ])('is not fused when %s', (_why, change) => {
    expect(fused(record(change))).not.toContain('qkNormRopeAppend');
  });
  test('is not fused when the append and the rotation of the keys have different shapes', () => {
    const viewed = (step: Recorder) => {
      const layer = { k: planner.buffer([1, 8, 1, 8]), v: planner.buffer([1, 8, 1, 8]) };
      const [positions, slots] = [indices(step, 3), indices(step, 3)];
      const rotate = () => b.rope(input(step, 3, 2, 4), positions, { theta: 10000, layout: 'halves' });
      const [queries, keys] = [b.view(rotate(), [3, 1, 8]), b.view(rotate(), [3, 1, 8])];
      b.kvAppend(layer, keys, input(step, 3, 1, 8), slots);
      const batch = {
        cuSeqlens: indices(step, 2),
        kvLengths: indices(step, 1),
        blockTable: indices(step, 1, 1),
      };
      const config = { heads: 1, kvHeads: 1, headDim: 8, scale: 1, causal: true };
      b.attention(queries, layer, { ...batch, positions, slots, lastRows: slots }, config);
    };
    expect(fused(viewed)).not.toContain('qkNormRopeAppend');
  });
  test('is not moved past another append to the same cache', () => {
    const between: Change['between'] = (layer, x, slots) => b.kvAppend(layer, x, x, slots);
    expect(fused(record({ between }))).not.toContain('qkNormRopeAppend');
  });
});

describe('linear + argmax', () => {
  const record =
    (change: { bias?: boolean; keep?: boolean; view?: boolean; reuse?: boolean } = {}) =>
    (step: Recorder) => {
      const logits = b.linear(input(step, 4, 8), w(6, 8), { bias: change.bias ? w(6) : undefined });
      if (change.keep) step.keep(logits);
      if (change.reuse) b.softmax(logits);
      b.argmax(change.view ? b.view(logits, [8, 3]) : logits);
    };
  test('is fused', () => expect(fused(record())).toEqual(['linearArgmax']));
  test.each([{ bias: true }, { keep: true }, { view: true }, { reuse: true }])(
    'is not fused with %p',
    (change) => expect(fused(record(change))).not.toContain('linearArgmax'),
  );
});

test('without a kernel of the driver ops stay plain', () => {
  const plan = planner.plan((step) => b.argmax(b.linear(input(step, 1, 8), planner.weight([6, 8], 'q4_k'))));
  const asked: unknown[] = [];
  const after = fuse(plan, (op, candidate) => {
    asked.push([op, candidate.operands[1]]);
    return false;
  });
  expect(after.ops).toEqual(plan.ops);
  expect(asked).toEqual([[fusedOps.linearArgmax, expect.objectContaining({ format: 'q4_k' })]]);
});

test('two layers are fused separately, in order', () => {
  const plan = planner.plan((step) => {
    let x = input(step, 3, 8);
    for (let layer = 0; layer < 2; layer++) {
      const h = b.rmsNorm(x, w(8), { eps });
      const [q, k, v] = [b.linear(h, w(8, 8)), b.linear(h, w(8, 8)), b.linear(h, w(8, 8))];
      const y = b.add(x, b.mul(b.mul(q, k), v));
      const n = b.rmsNorm(y, w(8), { eps });
      x = b.add(y, b.linear(b.swiglu(b.linear(n, w(9, 8)), b.linear(n, w(9, 8))), w(8, 9)));
    }
    b.argmax(b.linear(b.rmsNorm(x, w(8), { eps }), w(20, 8)));
  });
  const after = fuse(plan, () => true);
  const layer = ['qkvLinear', 'mul', 'mul', 'addRmsNorm', 'gateUpSwiglu', 'linear', 'addRmsNorm'];
  expect(names(after)).toEqual(['rmsNorm', ...layer, ...layer, 'linearArgmax']);
  proveOrder(after);
});
