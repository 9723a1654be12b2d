import { byteLength } from '../dtype.js';
import { fills, type OptionalOpName } from '../generated/ops.js';
import type { AnyOp } from '../op/define-op.js';
import type { Fill } from '../op/fill.js';
import type { Plan, PlanOp, PlanOperand, Storage, TensorOperand } from './plan.js';

/** How core fills the ops missing in a driver's manifest. */
export type Filled = Readonly<Partial<Record<OptionalOpName, 'host' | 'decomposed'>>>;

/** The optional ops that core fills and for which `has` is false. */
export function filledHoles(has: (op: string) => boolean): Filled {
  const holes = Object.entries<Fill>(fills).filter(([op, fill]) => fill !== 'refuse' && !has(op));
  return Object.fromEntries(holes.map(([op, fill]) => [op, fill === 'host' ? 'host' : 'decomposed']));
}

/** Collects the ops of a plan, and makes storages for the intermediate values of a decomposition. */
class PlanRewriter {
  readonly ops: PlanOp[] = [];
  readonly storages: Storage[];

  constructor({ storages }: Plan) {
    this.storages = [...storages];
  }

  readonly emit = (
    op: AnyOp,
    operands: Readonly<Record<string, PlanOperand>>,
    attributes: Readonly<Record<string, number>> = {},
  ): readonly TensorOperand[] => {
    const outputs = op.infer(specsOf(operands), attributes).map((spec): TensorOperand => {
      const storage = { id: this.storages.length, byteLength: byteLength(spec), isInput: false, kept: false };
      this.storages.push(storage);
      return { kind: 'tensor', ...spec, storage, byteOffset: 0 };
    });
    this.ops.push({
      op,
      operands: Object.keys(op.operands).map((name) => operands[name]),
      attributes: Object.keys(op.attributes).map((name) => attributes[name] ?? 0),
      outputs,
    });
    return outputs;
  };

  /** The last op of the decomposition writes the outputs of the op. */
  replace({ op, operands, attributes, outputs }: PlanOp): void {
    const fill: Fill = fills[op.name as OptionalOpName];
    if (typeof fill === 'string') return;
    const named = Object.keys(op.operands).flatMap((name, i) => (operands[i] ? [[name, operands[i]]] : []));
    const numbers = Object.keys(op.attributes).map((name, i) => [name, attributes[i]!]);
    fill(Object.fromEntries(named), Object.fromEntries(numbers), this.emit);
    const last = this.ops.pop()!;
    for (const _ of last.outputs) this.storages.pop();
    this.ops.push({ ...last, outputs });
  }
}

const specsOf = (operands: Readonly<Record<string, PlanOperand>>) =>
  Object.fromEntries(
    Object.entries(operands).map(([name, operand]) => [
      name,
      { shape: operand.shape, dtype: operand.kind === 'weight' ? operand.format : operand.dtype },
    ]),
  );

/** The plan with decomposed ops; the plan itself if it has none. */
export function decomposeOps(plan: Plan, filled: Filled): Plan {
  const isFilled = ({ op }: PlanOp) => filled[op.name as OptionalOpName] === 'decomposed';
  if (!plan.ops.some(isFilled)) return plan;
  const rewriter = new PlanRewriter(plan);
  for (const op of plan.ops)
    if (isFilled(op)) rewriter.replace(op);
    else rewriter.ops.push(op);
  return { ops: rewriter.ops, storages: rewriter.storages };
}
