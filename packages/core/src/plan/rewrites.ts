import { fusedOps } from '../fusions/index.js';
import type { AnyOp } from '../op/define-op.js';
import type { PlanOp, PlanOperand, TensorOperand } from './plan.js';
import { type PlanGraph, sameValue } from './plan-graph.js';
import type { Match } from './rewrite.js';

const named = (graph: PlanGraph, index: number, name: string): PlanOp | undefined =>
  graph.ops[index]?.op.name === name ? graph.ops[index] : undefined;

const rising = (...indices: number[]): number[] => indices.sort((a, b) => a - b);

const sameShape = (a: PlanOperand, b: PlanOperand): boolean =>
  a.shape.length === b.shape.length && a.shape.every((d, i) => d === b.shape[i]);

/** The same elements in the same shape. */
const alike = (a: PlanOperand | undefined, b: PlanOperand | undefined): boolean =>
  sameValue(a, b) && sameShape(a!, b!);

const sameAttributes = (a: PlanOp, b: PlanOp): boolean =>
  a.attributes.every((value, i) => value === b.attributes[i]);

/** add(a, b) → a norm of the sum. The sum stays: it may be the residual stream. */
const addNorm =
  (name: string, op: AnyOp): Match =>
  (graph, index) => {
    const add = named(graph, index, 'add');
    if (!add || !sameShape(add.operands[0]!, add.operands[1]!)) return undefined;
    const sum = add.outputs[0]!;
    const at = graph.users(sum).find((user) => {
      const norm = named(graph, user, name);
      return norm && alike(norm.operands[0], sum);
    });
    if (at === undefined) return undefined;
    const norm = graph.ops[at]!;
    const fused: PlanOp = {
      op,
      operands: [add.operands[0], add.operands[1], ...norm.operands.slice(1)],
      attributes: norm.attributes,
      outputs: [sum, norm.outputs[0]!],
    };
    return { replaced: rising(index, at), fused };
  };

/** gelu(linear(x, w, bias)), product used nowhere else. */
const biasGelu: Match = (graph, index) => {
  const gelu = named(graph, index, 'gelu');
  if (!gelu) return undefined;
  const linearAt = graph.soleMaker(gelu.operands[0], 'linear', index);
  if (linearAt === undefined) return undefined;
  const linear = graph.ops[linearAt]!;
  if (!linear.operands[2] || !sameShape(linear.outputs[0]!, gelu.outputs[0]!)) return undefined;
  const fused: PlanOp = {
    op: fusedOps.biasGelu,
    operands: linear.operands,
    attributes: [...gelu.attributes, ...linear.attributes],
    outputs: gelu.outputs,
  };
  return { replaced: rising(linearAt, index), fused };
};

/** swiglu(linear(x, gate), linear(x, up)), products used nowhere else. */
const gateUpSwiglu: Match = (graph, index) => {
  const swiglu = named(graph, index, 'swiglu');
  if (!swiglu) return undefined;
  const gateAt = graph.soleMaker(swiglu.operands[0], 'linear', index);
  const upAt = graph.soleMaker(swiglu.operands[1], 'linear', index);
  if (gateAt === undefined || upAt === undefined || gateAt === upAt) return undefined;
  const [gate, up] = [graph.ops[gateAt]!, graph.ops[upAt]!];
  if (gate.operands[2] || up.operands[2] || !alike(gate.operands[0], up.operands[0])) return undefined;
  if (!sameAttributes(gate, up)) return undefined;
  const product = gate.outputs[0]!;
  if (!sameShape(product, up.outputs[0]!) || !sameShape(product, swiglu.outputs[0]!)) return undefined;
  const fused: PlanOp = {
    op: fusedOps.gateUpSwiglu,
    operands: [gate.operands[0], gate.operands[1], up.operands[1]],
    attributes: gate.attributes,
    outputs: swiglu.outputs,
  };
  return { replaced: rising(gateAt, upAt, index), fused };
};

/** Exactly three projections of one input, as in attention. */
const qkvLinear: Match = (graph, index) => {
  const q = named(graph, index, 'linear');
  if (!q) return undefined;
  const x = q.operands[0] as TensorOperand;
  const projections = graph.users(x).filter((user) => {
    const op = named(graph, user, 'linear');
    return op && alike(op.operands[0], x);
  });
  if (projections.length !== 3 || projections[0] !== index) return undefined;
  const [, k, v] = projections.map((at) => graph.ops[at]!) as [PlanOp, PlanOp, PlanOp];
  if (!sameAttributes(q, k) || !sameAttributes(q, v)) return undefined;
  const fused: PlanOp = {
    op: fusedOps.qkvLinear,
    operands: [x, q.operands[1], k.operands[1], v.operands[1], q.operands[2], k.operands[2], v.operands[2]],
    attributes: q.attributes,
    outputs: [q.outputs[0]!, k.outputs[0]!, v.outputs[0]!],
  };
  return { replaced: projections, fused };
};

/** A rotation and the head-wise norm before it, if any. */
interface Rotated {
  readonly indices: readonly number[];
  readonly x: PlanOperand;
  readonly norm: PlanOperand | undefined;
  readonly eps: number | undefined;
  readonly table: PlanOperand;
  readonly layout: number;
  readonly output: TensorOperand;
}

function rotated(graph: PlanGraph, at: number): Rotated {
  const rope = graph.ops[at]!;
  const [x, table] = [rope.operands[0]!, rope.operands[1]!];
  const base = { table, layout: rope.attributes[0]!, output: rope.outputs[0]! };
  const normAt = graph.soleMaker(x, 'rmsNorm', at);
  const norm = normAt === undefined ? undefined : graph.ops[normAt]!;
  const source = norm?.operands[0];
  if (!norm || !source || !sameShape(source, x))
    return { ...base, indices: [at], x, norm: undefined, eps: undefined };
  return { ...base, indices: [normAt!, at], x: source, norm: norm.operands[1], eps: norm.attributes[0] };
}

/** The query of the attention that reads the cache of the append at `index`. */
function queryOf(graph: PlanGraph, index: number): PlanOperand | undefined {
  const cache = graph.ops[index]!.operands[3];
  for (let i = index + 1; i < graph.ops.length; i++) {
    const attention = named(graph, i, 'attention');
    const k = attention?.operands[1];
    if (k?.kind === 'buffer' && cache?.kind === 'buffer' && k.handle === cache.handle)
      return attention!.operands[0];
  }
  return undefined;
}

/** Norm and rotation of q and k, and the append of k and v. */
const qkNormRopeAppend: Match = (graph, index) => {
  const append = named(graph, index, 'kvAppend');
  if (!append) return undefined;
  const kAt = graph.soleMaker(append.operands[0], 'rope', index);
  const qAt = graph.maker(queryOf(graph, index), 'rope');
  if (kAt === undefined || qAt === undefined || qAt === kAt) return undefined;
  const [q, k] = [rotated(graph, qAt), rotated(graph, kAt)];
  const sameRotation = alike(q.table, k.table) && q.layout === k.layout && q.eps === k.eps;
  const [appended, v, slots, kCache, vCache] = append.operands;
  if (!sameRotation || !sameShape(k.output, appended!)) return undefined;
  const fused: PlanOp = {
    op: fusedOps.qkNormRopeAppend,
    operands: [q.x, k.x, v, q.norm, k.norm, q.table, slots, kCache, vCache],
    attributes: [q.eps ?? 0, q.layout],
    outputs: [q.output],
  };
  return { replaced: rising(...q.indices, ...k.indices, index), fused };
};

/** add(base, weightedSum(expertLinear(expertLinear(x, a, ids), b, ids), scales)): changes by adapters. */
const addLowRank: Match = (graph, index) => {
  const add = named(graph, index, 'add');
  const sumAt = graph.soleMaker(add?.operands[1], 'weightedSum', index);
  if (!add || sumAt === undefined) return undefined;
  const sum = graph.ops[sumAt]!;
  const upAt = graph.soleMaker(sum.operands[0], 'expertLinear', sumAt);
  if (upAt === undefined) return undefined;
  const up = graph.ops[upAt]!;
  const downAt = graph.soleMaker(up.operands[0], 'expertLinear', upAt);
  if (downAt === undefined) return undefined;
  const down = graph.ops[downAt]!;
  const [base, scales] = [add.operands[0]!, sum.operands[1]!];
  const ids = down.operands[2];
  if (!sameValue(ids, up.operands[2]) || !sameShape(base, sum.outputs[0]!) || !sameShape(ids!, scales))
    return undefined;
  const fused: PlanOp = {
    op: fusedOps.addLowRank,
    operands: [base, down.operands[0], down.operands[1], up.operands[1], ids, scales],
    attributes: [],
    outputs: add.outputs,
  };
  return { replaced: rising(downAt, upAt, sumAt, index), fused };
};

/** The product without bias or batchInvariant that makes all of `logits`, read by op `user` alone: its index. */
function plainProduct(graph: PlanGraph, logits: PlanOperand | undefined, user: number): number | undefined {
  const at = graph.soleMaker(logits, 'linear', user);
  if (at === undefined) return undefined;
  const { operands, attributes, outputs } = graph.ops[at]!;
  const [, , bias] = operands;
  const [batchInvariant] = attributes;
  return !bias && batchInvariant === 0 && sameShape(outputs[0]!, logits!) ? at : undefined;
}

/** argmax(linear(x, w)), logits used nowhere else. */
const linearArgmax: Match = (graph, index) => {
  const argmax = named(graph, index, 'argmax');
  const linearAt = plainProduct(graph, argmax?.operands[0], index);
  if (!argmax || linearAt === undefined) return undefined;
  const [x, w] = graph.ops[linearAt]!.operands;
  const fused: PlanOp = {
    op: fusedOps.linearArgmax,
    operands: [x, w],
    attributes: [],
    outputs: argmax.outputs,
  };
  return { replaced: rising(linearAt, index), fused };
};

/** maskLogits(linear(x, w), bits), logits used nowhere else. */
const linearMask: Match = (graph, index) => {
  const mask = named(graph, index, 'maskLogits');
  const linearAt = plainProduct(graph, mask?.operands[0], index);
  if (!mask || linearAt === undefined) return undefined;
  const [x, w] = graph.ops[linearAt]!.operands;
  const fused: PlanOp = {
    op: fusedOps.linearMask,
    operands: [x, w, mask.operands[1]],
    attributes: [],
    outputs: mask.outputs,
  };
  return { replaced: rising(linearAt, index), fused };
};

/** In matching order. */
export const rewrites: readonly Match[] = [
  addNorm('rmsNorm', fusedOps.addRmsNorm),
  gateUpSwiglu,
  qkvLinear,
  qkNormRopeAppend,
  linearArgmax,
  addNorm('layerNorm', fusedOps.addLayerNorm),
  biasGelu,
  addLowRank,
  linearMask,
];
