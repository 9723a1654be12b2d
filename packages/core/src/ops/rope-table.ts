import { needRank } from '../op/check.js';
import { defineOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import { stepOf } from '../op/record.js';
import { type RopeOptions, ropeFrequencies } from '../rope-frequencies.js';
import type { StepTensor } from '../step-tensor.js';
import type { Tensor } from '../tensor.js';
import { floats, ints } from '../testing/samples.js';

const theta = (base: number, pairs: number) =>
  floats(Array.from({ length: pairs }, (_, i) => base ** (-i / pairs)));

export const ropeTable = defineOp({
  name: 'ropeTable',
  doc:
    "Cosines and sines of every position's rotation: positions [T], frequencies [R/2] → [T, R], the first half of a row " +
    'cos(position · frequency) · magnitude, the second half sin. The angle is the exact product, reduced modulo 2π before rounding: in double precision, or in integers on devices without doubles. ' +
    'One table serves all heads and layers of a step.',
  source: 'Su et al. 2021, RoFormer, eq. 34',
  operands: {
    positions: { kind: 'tensor', dtypes: ['i32'] },
    frequencies: { kind: 'tensor', dtypes: ['f32'] },
  },
  attributes: { magnitude: 'f32' },
  outputs: ['table'],
  accumulation: 'none',
  infer({ positions, frequencies }) {
    needRank('ropeTable', 'positions', positions, 1, '[T]');
    needRank('ropeTable', 'frequencies', frequencies, 1, '[R/2]');
    return [{ shape: [positions.shape[0]!, 2 * frequencies.shape[0]!], dtype: 'f32' }];
  },
  define({ positions, frequencies }, { magnitude }, [table]) {
    const half = frequencies.data.length;
    for (let t = 0; t < positions.data.length; t++)
      for (let i = 0; i < half; i++) {
        const angle = positions.data[t]! * frequencies.data[i]!;
        table!.data[t * 2 * half + i] = Math.cos(angle) * magnitude;
        table!.data[t * 2 * half + half + i] = Math.sin(angle) * magnitude;
      }
  },
  magnitude: (_operands, { magnitude }, [table]) => void table!.data.fill(Math.abs(magnitude)),
  tolerance: { f32: { absolute: 0, relative: 2e-6 } },
  samples: () => [
    {
      name: 'near',
      operands: { positions: ints([0, 1, 2, 3]), frequencies: theta(10000, 8) },
      attributes: { magnitude: 1 },
    },
    {
      name: 'far',
      operands: { positions: ints([131071, 7, 40000]), frequencies: theta(500000, 16) },
      attributes: { magnitude: 1 },
    },
    {
      name: 'the largest positions, and negative ones',
      operands: { positions: ints([2 ** 31 - 1, 2 ** 24 + 1, -5, -131071]), frequencies: theta(10000, 8) },
      attributes: { magnitude: 1 },
    },
    {
      name: 'magnified',
      operands: { positions: ints([5]), frequencies: theta(10000, 3) },
      attributes: { magnitude: 1.25 },
    },
    {
      name: 'a magnitude that f32 rounds',
      operands: { positions: ints([5, 99]), frequencies: theta(10000, 3) },
      attributes: { magnitude: 0.1 * Math.log(32) + 1 },
    },
    {
      name: 'no positions',
      operands: { positions: ints([]), frequencies: theta(10000, 4) },
      attributes: { magnitude: 1 },
    },
  ],
  errors: () => [
    {
      name: 'positions of rank 2',
      operands: { positions: ints([0, 1], [1, 2]), frequencies: theta(10000, 4) },
      attributes: { magnitude: 1 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
  ],
});

/** One table per step, positions and options. */
export function ropeTableOf(positions: Tensor, options: RopeOptions, headDim: number): StepTensor {
  const step = stepOf('rope', positions);
  const own = step.own('rope', 'positions', positions);
  const key = `${own.storage.id} ${own.byteOffset} ${headDim} ${JSON.stringify(options)}`;
  return step.once(key, () => {
    const { frequencies, magnitude } = ropeFrequencies(options, headDim);
    return step.record(ropeTable, { positions, frequencies: step.input(frequencies) }, { magnitude })[0]!;
  });
}

export const fill = 'host' satisfies Fill;
