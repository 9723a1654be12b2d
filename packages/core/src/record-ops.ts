import type { AttnConfig } from './attention-config.js';
import type { Ops } from './backend.js';
import type { Collective } from './capability/collective.js';
import type { MoeFused } from './capability/moe-fused.js';
import { collectiveOps, reductions } from './collectives/index.js';
import { elementCount, showShape } from './dtype.js';
import { BackendError } from './error.js';
import { fusedOps } from './fusions/index.js';
import { badShape } from './op/check.js';
import { castTargets } from './ops/cast.js';
import { geluForms } from './ops/gelu.js';
import { coreOps } from './ops/index.js';
import { poolings } from './ops/pool.js';
import { ropeLayouts } from './ops/rope.js';
import { type Recorder, StepTensor } from './recorder.js';
import { type RopeOptions, ropeFrequencies } from './rope-frequencies.js';
import type { Tensor } from './tensor.js';

/** The step of a tensor. */
function stepOf(op: string, tensor: Tensor): Recorder {
  if (tensor instanceof StepTensor) return tensor.step;
  throw new BackendError('BAD_ARGUMENT', `[${op}] the first operand is not a tensor of a step`);
}

/** One table of cosines and sines per step, positions and options. */
function ropeTable(positions: Tensor, options: RopeOptions, headDim: number): StepTensor {
  const step = stepOf('rope', positions);
  const own = step.own('rope', 'positions', positions);
  const key = `${own.storage.id} ${own.byteOffset} ${headDim} ${JSON.stringify(options)}`;
  return step.once(key, () => {
    const { frequencies, magnitude } = ropeFrequencies(options, headDim);
    return step.record(
      coreOps.ropeTable,
      { positions, frequencies: step.input(frequencies) },
      { magnitude },
    )[0]!;
  });
}

/** Checks shapes against AttnConfig. `where`: the keys, with their heads and shape. */
function needConfigured(
  op: string,
  q: Tensor,
  kvHeads: number | undefined,
  where: string,
  shape: readonly number[],
  config: AttnConfig,
): void {
  const [, H, d] = q.shape;
  if (q.shape.length !== 3 || H !== config.heads || d !== config.headDim)
    throw badShape(
      op,
      `q must have shape [T, ${config.heads}, ${config.headDim}] (AttnConfig); got ${showShape(q.shape)}`,
    );
  if (kvHeads !== config.kvHeads)
    throw badShape(op, `${where} must have ${config.kvHeads} kv heads (AttnConfig); got ${showShape(shape)}`);
}

const attentionAttributes = ({ scale, causal, window = 0, softCap = 0, bf16 = false }: AttnConfig) => ({
  scale,
  causal: causal ? 1 : 0,
  window,
  softCap,
  bf16: bf16 ? 1 : 0,
});

function alias(op: string, x: Tensor, shape: readonly number[], elementOffset: number): Tensor {
  const step = stepOf(op, x);
  return step.alias(step.own(op, 'x', x), shape, elementOffset);
}

function view(x: Tensor, shape: readonly number[]): Tensor {
  if (elementCount(shape) !== elementCount(x.shape))
    throw badShape('view', `${showShape(x.shape)} cannot be seen as ${showShape(shape)}: the counts differ`);
  return alias('view', x, shape, 0);
}

function slice(x: Tensor, from: number, to: number): Tensor {
  const rows = x.shape[0] ?? 0;
  if (!(Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= rows))
    throw badShape('slice', `rows ${from} to ${to} do not lie within ${showShape(x.shape)}`);
  const row = elementCount(x.shape.slice(1));
  return alias('slice', x, [to - from, ...x.shape.slice(1)], from * row);
}

const record = stepOf;

/** MoeFused.moe as one record. */
export const recordMoe: MoeFused['moe'] = (x, experts, residual, { experts: count, chosen, renormalise }) => {
  const step = stepOf('moe', x);
  if (experts.router.shape[0] !== count)
    throw badShape(
      'moe',
      `router must have shape [${count}, D] (MoeRouting); got ${showShape(experts.router.shape)}`,
    );
  const attributes = { chosen, renormalise: renormalise ? 1 : 0 };
  return step.record(fusedOps.moe, { x, ...experts, residual }, attributes)[0]!;
};

/** Collective.allReduce and allGather as one record each. */
export const recordCollective = (worldSize: number): Pick<Collective, 'allReduce' | 'allGather'> => ({
  allReduce: (x, by) =>
    stepOf('allReduce', x).record(collectiveOps.allReduce, { x }, { by: reductions[by] })[0]!,
  allGather: (x) => stepOf('allGather', x).record(collectiveOps.allGather, { x }, { worldSize })[0]!,
});

/** Each op call as one record in the step of its first operand. */
export const recordOps: Ops = {
  embed: (table, ids) => record('embed', ids).record(coreOps.embed, { table, ids })[0]!,
  linear: (x, w, { bias, batchInvariant = false } = {}) =>
    record('linear', x).record(
      coreOps.linear,
      { x, w, bias },
      { batchInvariant: batchInvariant ? 1 : 0 },
    )[0]!,
  add: (a, b) => record('add', a).record(coreOps.add, { a, b })[0]!,
  mul: (a, b) => record('mul', a).record(coreOps.mul, { a, b })[0]!,
  scale: (x, factor) => record('scale', x).record(coreOps.scale, { x }, { factor })[0]!,
  rmsNorm: (x, w, { eps }) => record('rmsNorm', x).record(coreOps.rmsNorm, { x, w }, { eps })[0]!,
  silu: (x) => record('silu', x).record(coreOps.silu, { x })[0]!,
  gelu: (x, { form = 'erf' } = {}) =>
    record('gelu', x).record(coreOps.gelu, { x }, { form: geluForms[form] })[0]!,
  swiglu: (gate, up) => record('swiglu', gate).record(coreOps.swiglu, { gate, up })[0]!,
  geglu: (gate, up) => record('geglu', gate).record(coreOps.geglu, { gate, up })[0]!,
  rope(x, positions, options) {
    const table = ropeTable(positions, options, x.shape[2] ?? 0);
    return record('rope', x).record(coreOps.rope, { x, table }, { layout: ropeLayouts[options.layout] })[0]!;
  },
  attention(q, layer, { cuSeqlens, kvLengths, blockTable }, config) {
    needConfigured('attention', q, layer.k.shape[2], 'the cache', layer.k.shape, config);
    const operands = { q, kCache: layer.k, vCache: layer.v, cuSeqlens, kvLengths, blockTable };
    return record('attention', q).record(coreOps.attention, operands, attentionAttributes(config))[0]!;
  },
  kvAppend(layer, k, v, slots) {
    record('kvAppend', k).record(coreOps.kvAppend, { k, v, slots, kCache: layer.k, vCache: layer.v });
  },
  softmax: (x) => record('softmax', x).record(coreOps.softmax, { x })[0]!,
  argmax: (x) => record('argmax', x).record(coreOps.argmax, { x })[0]!,
  topK(x, k) {
    const [values, indices] = record('topK', x).record(coreOps.topK, { x }, { k });
    return { values: values!, indices: indices! };
  },
  maskLogits: (x, bits) => record('maskLogits', x).record(coreOps.maskLogits, { x, bits })[0]!,
  penalise: (x, tokens, strengths) =>
    record('penalise', x).record(coreOps.penalise, { x, tokens, strengths })[0]!,
  logProbs: (x, tokens) => record('logProbs', x).record(coreOps.logProbs, { x, tokens })[0]!,
  sample: (x, settings, random, draws) =>
    record('sample', x).record(coreOps.sample, { x, settings, random, draws })[0]!,
  gatherRows: (x, rows) => record('gatherRows', x).record(coreOps.gatherRows, { x, rows })[0]!,
  expertLinear: (x, w, ids) => record('expertLinear', x).record(coreOps.expertLinear, { x, w, ids })[0]!,
  weightedSum: (x, weights) => record('weightedSum', x).record(coreOps.weightedSum, { x, weights })[0]!,
  cast: (x, to) => record('cast', x).record(coreOps.cast, { x }, { to: castTargets.indexOf(to) })[0]!,
  layerNorm: (x, w, b, { eps }) => record('layerNorm', x).record(coreOps.layerNorm, { x, w, b }, { eps })[0]!,
  uncachedAttention(q, k, v, { cuSeqlens, cuKeys = cuSeqlens }, config) {
    needConfigured('uncachedAttention', q, k.shape[1], 'k', k.shape, config);
    const operands = { q, k, v, cuSeqlens, cuKeys };
    const attributes = attentionAttributes(config);
    return record('uncachedAttention', q).record(coreOps.uncachedAttention, operands, attributes)[0]!;
  },
  pool: (x, cuSeqlens, { by }) =>
    record('pool', x).record(coreOps.pool, { x, cuSeqlens }, { by: poolings[by] })[0]!,
  l2Normalise: (x) => record('l2Normalise', x).record(coreOps.l2Normalise, { x })[0]!,
  conv1d: (x, w, { bias, stride = 1, padding = 0 } = {}) =>
    record('conv1d', x).record(coreOps.conv1d, { x, w, bias }, { stride, padding })[0]!,
  log10: (x, { floor }) => record('log10', x).record(coreOps.log10, { x }, { floor })[0]!,
  tanh: (x) => record('tanh', x).record(coreOps.tanh, { x })[0]!,
  view,
  slice,
};
