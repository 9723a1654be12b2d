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
 * The index at which the fused op can stand: where the last replaced op stood, if nothing between needs its results,
 * else where the first stood, if nothing between makes its operands. An op between that shares a buffer forbids both.
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

/** Applies one kind of rewrite wherever it matches; the same ops where it does nowhere. */
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

/** The ops that stay, with the fused ones in their places. */
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

/** The plan with every fused op that the driver has, a part for each kind of rewrite. Results are the same within the fused ops' tolerances. */
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
