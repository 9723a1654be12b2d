import { defineOp } from '../op/define-op.js';
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
import { as, normal } from '../testing/samples.js';

const weight = { kind: 'weight' } as const;
const bias = { kind: 'weight', optional: true } as const;

export const qkvLinear = defineOp({
  name: 'qkvLinear',
  doc: `Three products of one input: x [T, K] with q [Nq, K], k [Nk, K] and v [Nv, K], each with an optional bias → [T, Nq], [T, Nk], [T, Nv]. ${batchInvariantDoc}`,
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    q: weight,
    k: weight,
    v: weight,
    qBias: bias,
    kBias: bias,
    vBias: bias,
  },
  attributes: batchInvariantRule,
  replaces: 'exactly three `linear` of one x, with or without bias, where batchInvariant is the same',
  outputs: ['yq', 'yk', 'yv'],
  accumulation: 'f32',
  infer({ x, q, k, v, qBias, kBias, vBias }, attributes) {
    needBatchInvariant('qkvLinear', attributes);
    return [
      inferLinear('qkvLinear', x, q, qBias, { weight: 'q', bias: 'qBias' }),
      inferLinear('qkvLinear', x, k, kBias, { weight: 'k', bias: 'kBias' }),
      inferLinear('qkvLinear', x, v, vBias, { weight: 'v', bias: 'vBias' }),
    ];
  },
  define({ x, q, k, v, qBias, kBias, vBias }, _attributes, [yq, yk, yv]) {
    defineLinear(x, q, qBias, yq!);
    defineLinear(x, k, kBias, yk!);
    defineLinear(x, v, vBias, yv!);
  },
  magnitude({ x, q, k, v, qBias, kBias, vBias }, _attributes, [yq, yk, yv]) {
    linearMagnitude(x, q, qBias, yq!);
    linearMagnitude(x, k, kBias, yk!);
    linearMagnitude(x, v, vBias, yv!);
  },
  rounding({ x, q, k, v }, attributes, [yq, yk, yv]) {
    const superblock = roundsBySuperblock(x, attributes);
    linearRounding(x, q, yq!, superblock);
    linearRounding(x, k, yk!, superblock);
    linearRounding(x, v, yv!, superblock);
  },
  tolerance: linearTolerance,
  samples: () => [
    {
      name: 'one row, grouped heads',
      operands: {
        x: normal(1, [1, 64]),
        q: normal(2, [64, 64]),
        k: normal(3, [16, 64]),
        v: normal(4, [16, 64]),
      },
      attributes: { batchInvariant: 0 },
    },
    {
      name: 'odd sizes, biases',
      operands: {
        x: normal(5, [5, 33]),
        q: normal(6, [12, 33]),
        k: normal(7, [7, 33]),
        v: normal(8, [5, 33]),
        qBias: normal(9, [12]),
        kBias: normal(10, [7]),
        vBias: normal(11, [5]),
      },
      attributes: { batchInvariant: 0 },
    },
    {
      name: 'batch-invariant',
      operands: {
        x: normal(15, [3, 32]),
        q: normal(16, [8, 32]),
        k: as('f16', normal(17, [8, 32])),
        v: normal(18, [8, 32]),
      },
      attributes: { batchInvariant: 1 },
    },
    {
      name: 'mixed formats',
      operands: {
        x: normal(12, [3, 32]),
        q: as('f16', normal(13, [8, 32])),
        k: normal(14, [8, 32]),
        v: as('bf16', normal(15, [8, 32])),
      },
      attributes: { batchInvariant: 0 },
    },
  ],
  errors: () => [],
});
