import type { Cooperative } from '../cooperative.js';
import type { AnyOp } from '../op/define-op.js';
import type { Plan, PlanOp, Storage } from './plan.js';
import { PlanGraph } from './plan-graph.js';
import type { Match, Rewrite } from './rewrite.js';
import { rewrites } from './rewrites.js';

/** Whether a driver has a kernel for a fused op with these operands. */
export type FusionSupport = (op: AnyOp, fused: PlanOp) => boolean;

const storagesOf = (tensors: readonly (PlanOp['operands'][number] | undefined)[]): Set<Storage> =>
  new Set(tensors.flatMap((t) => (t?.kind === 'tensor' ? [t.storage] : [])));

const buffersOf = (op: PlanOp): number[] =>
  op.operands.flatMap((o) => (o?.kind === 'buffer' ? [o.handle.id] : []));

const intersects = <T>(a: Iterable<T>, b: Set<T>): boolean => [...a].some((x) => b.has(x));

/**
 * Index for the fused op. The place of the last replaced op, if no op between reads its results. Otherwise the place of
 * the first, if no op between makes its operands. Neither, if an op between shares a buffer.
 */
function placeOf(graph: PlanGraph, { replaced, fused }: Rewrite): number | undefined {
  const [first, last] = [replaced[0]!, replaced[replaced.length - 1]!];
  if (last - first === replaced.length - 1) return last;
  const between = graph.ops.slice(first, last + 1).filter((_, i) => !replaced.includes(first + i));
  const made = storagesOf(fused.outputs);
  const used = storagesOf(fused.operands);
  const buffers = new Set(buffersOf(fused));
  if (between.some((op) => intersects(buffersOf(op), buffers))) return undefined;
  if (!between.some((op) => intersects(storagesOf(op.operands), made))) return last;
  if (!between.some((op) => intersects(storagesOf(op.outputs), used))) return first;
  return undefined;
}

/** Applies one kind of rewrite wherever it matches; returns the same ops if it matches nowhere. */
function applyRewrite(graph: PlanGraph, match: Match, supported: FusionSupport): readonly PlanOp[] {
  const { ops } = graph;
  const gone = new Set<number>();
  const placed = new Map<number, PlanOp>();
  for (let i = 0; i < ops.length; i++) {
    const rewrite = match(graph, i);
    if (!rewrite || rewrite.replaced.some((index) => gone.has(index))) continue;
    if (!supported(rewrite.fused.op, rewrite.fused)) continue;
    const place = placeOf(graph, rewrite);
    if (place === undefined) continue;
    for (const index of rewrite.replaced) gone.add(index);
    placed.set(place, rewrite.fused);
  }
  return placed.size === 0 ? ops : rewritten(ops, gone, placed);
}

/** The remaining ops, with the fused ops in their places. */
function rewritten(
  ops: readonly PlanOp[],
  gone: ReadonlySet<number>,
  placed: ReadonlyMap<number, PlanOp>,
): PlanOp[] {
  const kept: PlanOp[] = [];
  for (let i = 0; i < ops.length; i++) {
    const fused = placed.get(i);
    if (fused) kept.push(fused);
    else if (!gone.has(i)) kept.push(ops[i]!);
  }
  return kept;
}

/**
 * The plan with every fused op of the driver, one part of work per kind of rewrite. Results agree within the fused ops'
 * tolerances.
 */
export function* fusePlan(plan: Plan, supported: FusionSupport): Cooperative<Plan> {
  const { storages } = plan;
  let graph = new PlanGraph(plan);
  for (const match of rewrites) {
    const ops = applyRewrite(graph, match, supported);
    if (ops !== graph.ops) graph = new PlanGraph({ ops, storages });
    yield;
  }
  return { ops: graph.ops, storages };
}
