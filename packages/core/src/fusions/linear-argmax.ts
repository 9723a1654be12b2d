import { defineOp } from '../op/define-op.js';
import { defineArgmax } from '../ops/argmax.js';
import { defineLinear, inferLinear } from '../ops/linear.js';
import { as, normal } from '../testing/samples.js';

export const linearArgmax = defineOp({
  name: 'linearArgmax',
  doc: 'argmax(x · wᵀ): [T, K], [N, K] → [T] as i32, without storing the N products.',
  operands: { x: { kind: 'tensor', dtypes: ['f32'] }, w: { kind: 'weight' } },
  attributes: {},
  replaces: '`argmax(linear(x, w))`, without bias or batchInvariant, where the logits have no other reader',
  outputs: ['y'],
  accumulation: 'f32',
  infer({ x, w }) {
    const [T] = inferLinear('linearArgmax', x, w, undefined).shape;
    return [{ shape: [T], dtype: 'i32' }];
  },
  define({ x, w }, _attributes, [y]) {
    const shape = [x.shape[0]!, w.shape[0]!];
    const products = { shape, data: new Float64Array(shape[0]! * shape[1]!) };
    defineLinear(x, w, undefined, products);
    defineArgmax(products, y!);
  },
  tolerance: { f32: { absolute: 0, relative: 0 }, f16: { absolute: 0, relative: 0 } },
  samples: () => [
    { name: 'one row', operands: { x: normal(1, [1, 64]), w: normal(2, [131, 64]) }, attributes: {} },
    { name: 'rows', operands: { x: normal(3, [4, 33]), w: as('f16', normal(4, [77, 33])) }, attributes: {} },
  ],
  errors: () => [],
});
