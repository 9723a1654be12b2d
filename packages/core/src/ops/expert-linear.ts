import { badShape, lastDim, needRank, outOfRange } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { as, integers, ints, normal } from '../testing/samples.js';
import type { Weight } from '../weight.js';
import {
  defineLinear,
  linearMagnitude,
  linearRounding,
  linearTolerance,
  roundsBySuperblock,
} from './linear.js';

/** Row `index` of `data`; rows have `width` elements. */
const row = (data: Numbers['data'], index: number, width: number) =>
  data.subarray(index * width, (index + 1) * width);

/** Indices into ids of matrix e. */
const placesOf = (ids: Numbers, e: number): number[] =>
  Array.from(ids.data.keys()).filter((place) => ids.data[place] === e);

/** Calls `product(x, w, y)` once per matrix, with the rows of x for this matrix: x [n, K], w [N, K], y [n, N]. */
function eachMatrix(
  { x, w, ids }: { readonly x: Numbers; readonly w: Numbers; readonly ids: Numbers },
  y: Numbers,
  product: (x: Numbers, w: Numbers, y: Numbers) => void,
): void {
  const [E, N, K] = w.shape as [number, number, number];
  const k = lastDim(ids.shape);
  ids.data.forEach((id, i) => {
    if (id < 0 || id >= E) throw outOfRange('expertLinear', `ids[${i}] is ${id}, but w has ${E} matrices`);
  });
  for (let e = 0; e < E; e++) {
    const places = placesOf(ids, e);
    const rows = { shape: [places.length, K], data: new Float64Array(places.length * K) };
    const results = { shape: [places.length, N], data: new Float64Array(places.length * N) };
    places.forEach((place, i) => {
      rows.data.set(row(x.data, Math.floor(place / k), K), i * K);
    });
    product(rows, { shape: [N, K], data: row(w.data, e, N * K) }, results);
    places.forEach((place, i) => {
      y.data.set(row(results.data, i, N), place * N);
    });
  }
}

export const expertLinear = defineOp({
  name: 'expertLinear',
  doc: 'Products with selected matrices of a stack: row r of x [R, K] times each of the k matrices of w [E, N, K] in row r of ids [R, k] → [R, k, N].',
  source: 'Shazeer et al. 2017, Outrageously Large Neural Networks, §2',
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    w: { kind: 'weight' },
    ids: { kind: 'tensor', dtypes: ['i32'] },
  },
  attributes: {},
  inRange: '0 ≤ ids[r, j] < E',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, w, ids }) {
    needRank('expertLinear', 'x', x, 2, '[R, K]');
    needRank('expertLinear', 'w', w, 3, '[E, N, K]');
    needRank('expertLinear', 'ids', ids, 2, '[R, k]');
    const [R, K] = x.shape as [number, number];
    const [, N, wK] = w.shape as [number, number, number];
    const [idRows, k] = ids.shape as [number, number];
    if (wK !== K)
      throw badShape(
        'expertLinear',
        `w must have shape [E, N, ${K}] (x is [R, K]); got [${w.shape.join(', ')}]`,
      );
    if (idRows !== R)
      throw badShape('expertLinear', `ids must have shape [${R}, k] (x is [R, K]); got [${idRows}, ${k}]`);
    return [{ shape: [R, k, N], dtype: 'f32' }];
  },
  define: (operands, _attributes, [y]) =>
    eachMatrix(operands, y!, (x, w, of) => defineLinear(x, w, undefined, of)),
  magnitude: (operands, _attributes, [y]) =>
    eachMatrix(operands, y!, (x, w, of) => linearMagnitude(x, w, undefined, of)),
  rounding: (operands, _attributes, [y]) =>
    eachMatrix(operands, y!, (x, w, of) => linearRounding(x, w, of, roundsBySuperblock(operands.x))),
  tolerance: linearTolerance,
  samples: () => [
    {
      name: 'one row',
      operands: { x: normal(1, [1, 64]), w: normal(2, [8, 24, 64]), ids: ints([5, 0, 7], [1, 3]) },
      attributes: {},
    },
    {
      name: 'odd sizes',
      operands: { x: normal(3, [7, 33]), w: normal(4, [5, 19, 33]), ids: integers(5, [7, 2], 5) },
      attributes: {},
    },
    {
      name: 'many rows',
      operands: { x: normal(6, [90, 48]), w: normal(7, [3, 17, 48]), ids: integers(8, [90, 2], 3) },
      attributes: {},
    },
    {
      name: 'an unused matrix, and a matrix twice in one row',
      operands: { x: normal(9, [2, 16]), w: normal(10, [3, 5, 16]), ids: ints([2, 2, 0, 2], [2, 2]) },
      attributes: {},
    },
    {
      name: 'no rows',
      operands: { x: normal(11, [0, 16]), w: normal(12, [3, 5, 16]), ids: ints([], [0, 2]) },
      attributes: {},
    },
    {
      name: 'f16',
      operands: {
        x: normal(13, [20, 32]),
        w: as('f16', normal(14, [4, 16, 32])),
        ids: integers(15, [20, 2], 4),
      },
      attributes: {},
    },
    {
      name: 'bf16',
      operands: {
        x: normal(16, [3, 32]),
        w: as('bf16', normal(17, [4, 16, 32])),
        ids: integers(18, [3, 2], 4),
      },
      attributes: {},
    },
  ],
  errors: () => [
    {
      name: 'K differs',
      operands: { x: normal(20, [2, 16]), w: normal(21, [3, 4, 15]), ids: integers(22, [2, 1], 3) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'ids for other rows',
      operands: { x: normal(23, [2, 16]), w: normal(24, [3, 4, 16]), ids: integers(25, [3, 1], 3) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'one matrix for a stack',
      operands: { x: normal(26, [2, 16]), w: normal(27, [4, 16]), ids: integers(28, [2, 1], 3) },
      attributes: {},
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'an id past the end',
      operands: { x: normal(29, [2, 16]), w: normal(30, [3, 4, 16]), ids: ints([0, 3], [2, 1]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
    {
      name: 'a negative id',
      operands: { x: normal(31, [2, 16]), w: normal(32, [3, 4, 16]), ids: ints([0, -1], [2, 1]) },
      attributes: {},
      code: 'OUT_OF_RANGE',
      when: 'run',
    },
  ],
});

/** Row r of x [R, K] times each of the k matrices of w [E, N, K] selected by ids [R, k] → [R, k, N]. */
export function call(x: Tensor, w: Weight, ids: Tensor): Tensor {
  return record(x, expertLinear, { x, w, ids });
}
