import { needRank } from '../op/check.js';
import { type AnyOp, defineOp } from '../op/define-op.js';
import { normal } from '../testing/samples.js';

/** Values of allReduce's `by` attribute. */
export const reductions = { sum: 0, max: 1, min: 2 } as const;
export type Reduction = keyof typeof reductions;

const x = { kind: 'tensor', dtypes: ['f32'] } as const;

const allReduce = defineOp({
  name: 'allReduce',
  doc:
    'Combines x of every rank of a group, all of one shape, element by element; `by`: 0 sum, 1 max, 2 min. Every rank gets the same bits, ' +
    'within 10⁻⁶ of Σ|x|.',
  operands: { x },
  attributes: { by: 'i32' },
  outputs: ['y'],
  accumulation: 'f32',
  infer: (operands) => [{ shape: operands.x.shape, dtype: 'f32' }],
  define: (operands, _attributes, [y]) => y!.data.set(operands.x.data),
  tolerance: { f32: { absolute: 0, relative: 1e-6 } },
  samples: () => [{ name: 'alone', operands: { x: normal(1, [3, 5]) }, attributes: { by: 0 } }],
  errors: () => [],
});

const allGather = defineOp({
  name: 'allGather',
  doc: 'x [R, D] of every rank of a group → [worldSize · R, D], in order of rank, bit for bit.',
  operands: { x },
  attributes: { worldSize: 'i32' },
  outputs: ['y'],
  accumulation: 'none',
  infer(operands, { worldSize }) {
    needRank('allGather', 'x', operands.x, 2, '[R, D]');
    const [R, D] = operands.x.shape as [number, number];
    return [{ shape: [worldSize * R, D], dtype: 'f32' }];
  },
  define(operands, { worldSize }, [y]) {
    for (let rank = 0; rank < worldSize; rank++) y!.data.set(operands.x.data, rank * operands.x.data.length);
  },
  tolerance: { f32: { absolute: 0, relative: 0 } },
  samples: () => [{ name: 'alone', operands: { x: normal(2, [3, 5]) }, attributes: { worldSize: 1 } }],
  errors: () => [],
});

/**
 * Ops between the devices of a group, only for drivers that declare `collective`. Each definition covers one rank
 * alone; the conformance kit tests a group against the docs.
 */
export const collectiveOps = { allReduce, allGather } as const satisfies Record<string, AnyOp>;

export type CollectiveOpName = keyof typeof collectiveOps;
