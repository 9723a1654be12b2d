import { needShape } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import {
  batchInvariantDoc,
  batchInvariantRule,
  defineLinear,
  inferLinear,
  linearMagnitude,
  linearRounding,
  linearTolerance,
  needBatchInvariant,
  roundsBySuperblock,
} from '../ops/linear.js';
import { swiglu } from '../ops/swiglu.js';
import { as, normal } from '../testing/samples.js';

const like = (y: Numbers): Numbers => ({ shape: y.shape, data: new Float64Array(y.data.length) });

export const gateUpSwiglu = defineOp({
  name: 'gateUpSwiglu',
  doc: `swiglu(x · gateᵀ, x · upᵀ): [T, K], [F, K] twice → [T, F]. ${batchInvariantDoc}`,
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, gate: { kind: 'weight' }, up: { kind: 'weight' } },
  attributes: batchInvariantRule,
  replaces:
    '`swiglu(linear(x, gate), linear(x, up))`, where neither product has a bias or another reader, and batchInvariant is the same',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, gate, up }, attributes) {
    needBatchInvariant('gateUpSwiglu', attributes);
    needShape('gateUpSwiglu', 'up', up.shape, gate.shape, 'as gate');
    return [inferLinear('gateUpSwiglu', x, gate, undefined, { weight: 'gate', bias: '' })];
  },
  define({ x, gate, up }, _attributes, [y]) {
    const [g, u] = [like(y!), like(y!)];
    defineLinear(x, gate, undefined, g);
    defineLinear(x, up, undefined, u);
    swiglu.define({ gate: g, up: u }, {}, [y!]);
  },
  /** The error of silu is at most 1.1 times the error of its argument, so both products' magnitudes multiply. */
  magnitude({ x, gate, up }, _attributes, [y]) {
    const [g, u] = [like(y!), like(y!)];
    linearMagnitude(x, gate, undefined, g);
    linearMagnitude(x, up, undefined, u);
    for (let i = 0; i < y!.data.length; i++) y!.data[i] = 1.1 * g.data[i]! * u.data[i]!;
  },
  rounding({ x, gate, up }, attributes, [y]) {
    const [g, u, gRounding, uRounding] = [like(y!), like(y!), like(y!), like(y!)];
    linearMagnitude(x, gate, undefined, g);
    linearMagnitude(x, up, undefined, u);
    const superblock = roundsBySuperblock(x, attributes);
    linearRounding(x, gate, gRounding, superblock);
    linearRounding(x, up, uRounding, superblock);
    for (let i = 0; i < y!.data.length; i++) {
      const [dg, du] = [gRounding.data[i]!, uRounding.data[i]!];
      y!.data[i] = 1.1 * (dg * (u.data[i]! + du) + g.data[i]! * du);
    }
  },
  tolerance: linearTolerance,
  samples: () => [
    {
      name: 'one row',
      operands: { x: normal(1, [1, 64]), gate: normal(2, [48, 64], 0.2), up: normal(3, [48, 64]) },
      attributes: { batchInvariant: 0 },
    },
    {
      name: 'odd sizes',
      operands: { x: normal(4, [5, 33]), gate: normal(5, [19, 33], 0.2), up: normal(6, [19, 33]) },
      attributes: { batchInvariant: 0 },
    },
    {
      name: 'f16',
      operands: {
        x: normal(7, [3, 32]),
        gate: as('f16', normal(8, [16, 32], 0.2)),
        up: as('f16', normal(9, [16, 32])),
      },
      attributes: { batchInvariant: 0 },
    },
    {
      name: 'batch-invariant',
      operands: { x: normal(10, [2, 32]), gate: normal(11, [16, 32], 0.2), up: normal(12, [16, 32]) },
      attributes: { batchInvariant: 1 },
    },
  ],
  errors: () => [],
});
