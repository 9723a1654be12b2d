import {
  coreOps,
  type FusedOpName,
  type OperandValue,
  recordOp,
  recordView,
  type Step,
  type Tensor,
} from '@quern/core';

type Values = Readonly<Record<string, OperandValue>>;
type Attributes = Readonly<Record<string, number>>;
type PlainForm = (step: Step, operands: Values, attributes: Attributes) => readonly Tensor[];

const tensor = (step: Step, name: keyof typeof coreOps, operands: Values, attributes: Attributes = {}) =>
  recordOp(step, coreOps[name], operands, attributes)[0]!;

/** Attention over the cache after an append: the rewrite looks for its query. */
function attend(step: Step, q: Tensor, { kCache, vCache }: Values): void {
  const rows = q.shape[0]!;
  const blockSize = kCache!.shape[1]!;
  const blocks = Math.ceil(rows / blockSize);
  const batch = {
    cuSeqlens: step.input(Int32Array.of(0, rows)),
    kvLengths: step.input(Int32Array.of(rows)),
    blockTable: step.input(
      Int32Array.from({ length: blocks }, (_, i) => i),
      [1, blocks],
    ),
  };
  recordOp(
    step,
    coreOps.attention,
    { q, kCache, vCache, ...batch },
    { scale: 1, causal: 1, window: 0, softCap: 0, bf16: 0 },
  );
}

/** Each fused op in core ops, as models write it, with its outputs in order. */
export const plainForms = {
  addRmsNorm(step, { a, b, w }, { eps }) {
    const sum = tensor(step, 'add', { a, b });
    return [sum, tensor(step, 'rmsNorm', { x: sum, w }, { eps: eps! })];
  },
  addLayerNorm(step, { a, b, w, bias }, { eps }) {
    const sum = tensor(step, 'add', { a, b });
    return [sum, tensor(step, 'layerNorm', { x: sum, w, b: bias }, { eps: eps! })];
  },
  biasGelu: (step, { x, w, bias }, { form, ...attributes }) => [
    tensor(step, 'gelu', { x: tensor(step, 'linear', { x, w, bias }, attributes) }, { form: form! }),
  ],
  gateUpSwiglu(step, { x, gate, up }, attributes) {
    const products = {
      gate: tensor(step, 'linear', { x, w: gate }, attributes),
      up: tensor(step, 'linear', { x, w: up }, attributes),
    };
    return [tensor(step, 'swiglu', products)];
  },
  qkvLinear: (step, { x, q, k, v, qBias, kBias, vBias }, attributes) => [
    tensor(step, 'linear', { x, w: q, bias: qBias }, attributes),
    tensor(step, 'linear', { x, w: k, bias: kBias }, attributes),
    tensor(step, 'linear', { x, w: v, bias: vBias }, attributes),
  ],
  qkNormRopeAppend(step, operands, { eps, layout }) {
    const { q, k, v, qNorm, kNorm, table, slots, kCache, vCache } = operands;
    const rotated = (x: OperandValue, w: OperandValue) => {
      const normed = w ? tensor(step, 'rmsNorm', { x, w }, { eps: eps! }) : x;
      return tensor(step, 'rope', { x: normed, table }, { layout: layout! });
    };
    const query = rotated(q, qNorm);
    recordOp(step, coreOps.kvAppend, { k: rotated(k, kNorm), v, slots, kCache, vCache });
    attend(step, query, operands);
    return [query];
  },
  addLowRank(step, { base, x, a, b, ids, scales }) {
    const low = tensor(step, 'expertLinear', { x, w: a, ids });
    const [T, k, R] = low.shape as [number, number, number];
    const places = recordView(ids as Tensor, [T * k, 1]);
    const high = tensor(step, 'expertLinear', { x: recordView(low, [T * k, R]), w: b, ids: places });
    const sum = tensor(step, 'weightedSum', { x: recordView(high, [T, k, b!.shape[1]!]), weights: scales });
    return [tensor(step, 'add', { a: base, b: sum })];
  },
  linearArgmax: (step, { x, w }) => [tensor(step, 'argmax', { x: tensor(step, 'linear', { x, w }) })],
  linearMask: (step, { x, w, bits }) => [
    tensor(step, 'maskLogits', { x: tensor(step, 'linear', { x, w }), bits }),
  ],
  moe(step, { x, router, gate, up, down, residual }, { chosen, renormalise }) {
    const scores = tensor(step, 'linear', { x, w: router });
    const among = renormalise ? scores : tensor(step, 'softmax', { x: scores });
    const [values, ids] = recordOp(step, coreOps.topK, { x: among }, { k: chosen! });
    const weights = renormalise ? tensor(step, 'softmax', { x: values }) : values;
    const products = {
      gate: tensor(step, 'expertLinear', { x, w: gate, ids }),
      up: tensor(step, 'expertLinear', { x, w: up, ids }),
    };
    const [T, k, F] = products.gate.shape as [number, number, number];
    const inner = recordView(tensor(step, 'swiglu', products), [T * k, F]);
    const each = tensor(step, 'expertLinear', { x: inner, w: down, ids: recordView(ids!, [T * k, 1]) });
    const sum = tensor(step, 'weightedSum', { x: recordView(each, [T, k, each.shape[2]!]), weights });
    return [tensor(step, 'add', { a: residual, b: sum })];
  },
} as const satisfies Record<FusedOpName, PlainForm>;
