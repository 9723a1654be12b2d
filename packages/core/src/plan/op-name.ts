import type { PlanOp } from './plan.js';

const weightOf = (op: PlanOp): string | undefined => {
  for (const operand of op.operands) if (operand?.kind === 'weight') return operand.name;
  return undefined;
};

/**
 * Readable name of an op: 'linear blk.3.attn_q.weight' with the first weight it reads; else 'attention after
 * blk.3.attn_q.weight' with the last weight before it; else its name alone. Computed on demand; nothing is recorded.
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
