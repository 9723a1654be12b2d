import type { PlanOp } from './plan.js';

const weightOf = (op: PlanOp): string | undefined => {
  for (const operand of op.operands) if (operand?.kind === 'weight') return operand.name;
  return undefined;
};

/**
 * What people call an op of a plan: 'linear blk.3.attn_q.weight' by the first weight that it reads, 'attention after
 * blk.3.attn_q.weight' by the last one before it, or its name alone. Worked out when it is asked for; nothing is recorded.
 */
export function opName(ops: readonly PlanOp[], index: number): string {
  const { op } = ops[index]!;
  const own = weightOf(ops[index]!);
  if (own !== undefined) return `${op.name} ${own}`;
  for (let i = index - 1; i >= 0; i--) {
    const before = weightOf(ops[i]!);
    if (before !== undefined) return `${op.name} after ${before}`;
  }
  return op.name;
}
