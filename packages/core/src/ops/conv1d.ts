import { badArgument, badShape, needRank, needShape } from '../op/check.js';
import type { Attributes } from '../op/define-op.js';
import { defineOp } from '../op/define-op.js';
import type { Numbers } from '../op/numbers.js';
import { record } from '../op/record.js';
import type { Tensor } from '../tensor.js';
import { as, normal } from '../testing/samples.js';
import type { Weight } from '../weight.js';
import { defineLinear, linearMagnitude, linearRounding, linearTolerance } from './linear.js';

const attributes = { stride: 'i32', padding: 'i32' } as const;
type Attrs = Attributes<typeof attributes>;

/** Number of windows of `taps` rows in T rows with padding on both sides. */
const windowCount = (T: number, taps: number, { stride, padding }: Attrs): number =>
  Math.max(0, Math.floor((T + 2 * padding - taps) / stride) + 1);

/** The rows of each window, side by side: x [T, C] → [T', taps · C]. A convolution is their product with w. */
function windowsOf(x: Numbers, w: Numbers, attrs: Attrs): Numbers {
  const [T, C] = x.shape as [number, number];
  const K = w.shape[1]!;
  const count = windowCount(T, K / C, attrs);
  const data = new Float64Array(count * K);
  for (let t = 0; t < count; t++)
    for (let k = 0; k < K; k++) {
      const at = (t * attrs.stride - attrs.padding) * C + k;
      if (at >= 0 && at < T * C) data[t * K + k] = x.data[at]!;
    }
  return { shape: [count, K], data };
}

export const conv1d = defineOp({
  name: 'conv1d',
  doc: "Convolution along time: x [T, C], w [N, W·C] (+ bias [N]) → [T', N], T' = ⌊(T + 2 · padding − W) / stride⌋ + 1. Row n of w has the C channels of tap 0, then C of tap 1, up to tap W − 1. Padding rows are zeros.",
  operands: {
    x: { kind: 'tensor', dtypes: ['f32'] },
    w: { kind: 'weight' },
    bias: { kind: 'weight', optional: true },
  },
  attributes,
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, w, bias }, attrs) {
    needRank('conv1d', 'x', x, 2, '[T, C]');
    needRank('conv1d', 'w', w, 2, '[N, W·C]');
    const [T, C] = x.shape as [number, number];
    const [N, K] = w.shape as [number, number];
    if (!(K > 0 && K % C === 0))
      throw badShape('conv1d', `w must have shape [N, W·${C}] (x is [${T}, ${C}]); got [${N}, ${K}]`);
    if (bias) needShape('conv1d', 'bias', bias.shape, [N], 'w is [N, W·C]');
    if (!(attrs.stride >= 1)) throw badArgument('conv1d', `stride must be 1 or more; got ${attrs.stride}`);
    if (!(attrs.padding >= 0))
      throw badArgument('conv1d', `padding must not be negative; got ${attrs.padding}`);
    return [{ shape: [windowCount(T, K / C, attrs), N], dtype: 'f32' }];
  },
  define: ({ x, w, bias }, attrs, [y]) => defineLinear(windowsOf(x, w, attrs), w, bias, y!),
  magnitude: ({ x, w, bias }, attrs, [y]) => linearMagnitude(windowsOf(x, w, attrs), w, bias, y!),
  rounding: ({ x, w }, attrs, [y]) => linearRounding(windowsOf(x, w, attrs), w, y!),
  tolerance: linearTolerance,
  samples: () => [
    {
      name: 'first convolution of Whisper: 3 taps, padded',
      operands: { x: normal(1, [40, 16]), w: normal(2, [24, 48]), bias: normal(3, [24]) },
      attributes: { stride: 1, padding: 1 },
    },
    {
      name: 'second convolution of Whisper: every other window',
      operands: { x: normal(4, [41, 24]), w: as('f16', normal(5, [17, 72])), bias: normal(6, [17]) },
      attributes: { stride: 2, padding: 1 },
    },
    {
      name: 'one channel, as in a Fourier transform',
      operands: { x: normal(7, [200, 1]), w: normal(8, [10, 40]) },
      attributes: { stride: 16, padding: 0 },
    },
    {
      name: 'windows wider than x',
      operands: { x: normal(9, [2, 3]), w: normal(10, [5, 15]) },
      attributes: { stride: 1, padding: 3 },
    },
    {
      name: 'no window fits',
      operands: { x: normal(11, [2, 3]), w: normal(12, [5, 9]) },
      attributes: { stride: 1, padding: 0 },
    },
    {
      name: 'bf16',
      operands: { x: normal(13, [9, 7]), w: as('bf16', normal(14, [6, 14])) },
      attributes: { stride: 3, padding: 0 },
    },
  ],
  errors: () => [
    {
      name: 'w with a fraction of a tap',
      operands: { x: normal(20, [4, 6]), w: normal(21, [4, 16]) },
      attributes: { stride: 1, padding: 1 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'bias of the wrong length',
      operands: { x: normal(22, [4, 6]), w: normal(23, [4, 18]), bias: normal(24, [6]) },
      attributes: { stride: 1, padding: 1 },
      code: 'BAD_SHAPE',
      when: 'record',
    },
    {
      name: 'a stride of 0',
      operands: { x: normal(25, [4, 6]), w: normal(26, [4, 18]) },
      attributes: { stride: 0, padding: 1 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
    {
      name: 'negative padding',
      operands: { x: normal(27, [4, 6]), w: normal(28, [4, 18]) },
      attributes: { stride: 1, padding: -1 },
      code: 'BAD_ARGUMENT',
      when: 'record',
    },
  ],
});

/** Convolution along time of x [T, C] with w [N, W·C], tap by tap, (+ bias [N]) → [T', N]. Stride 1 and no padding unless given. */
export function call(
  x: Tensor,
  w: Weight,
  options: { readonly bias?: Weight | undefined; readonly stride?: number; readonly padding?: number } = {},
): Tensor {
  const { bias, stride = 1, padding = 0 } = options;
  return record(x, conv1d, { x, w, bias }, { stride, padding });
}
