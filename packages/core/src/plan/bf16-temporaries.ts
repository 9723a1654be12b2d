import type { Manifest } from '../driver.js';
import { supportOf } from '../manifest.js';
import type { Plan, PlanOp, Storage } from './plan.js';

/** Whether a driver stores any output in bf16: if not, no plan is looked at. */
export const storesBf16 = ({ ops, fused }: Manifest): boolean =>
  [...Object.values(ops), ...Object.values(fused ?? {})].some(({ stores }) => stores !== undefined);

/** The formats of what an op multiplies its tensors with, or writes them to: matrices and caches. */
const formatsOf = ({ operands }: PlanOp): string[] =>
  operands.flatMap((operand) => {
    if (operand?.kind === 'buffer') return [operand.dtype];
    return operand?.kind === 'weight' && operand.shape.length > 1 ? [operand.format] : [];
  });

/** Names of the operands that an op rounds to bf16 before anything else. */
function roundedOperands(op: PlanOp, manifest: Manifest): ReadonlySet<string> {
  const rounds = Object.entries(supportOf({ manifest }, op.op.name)?.rounds ?? {});
  if (rounds.length === 0) return none;
  const formats = formatsOf(op);
  if (formats.length === 0) return none;
  return new Set(
    rounds.flatMap(([name, allowed]) => (formats.every((format) => allowed.includes(format)) ? [name] : [])),
  );
}

const none: ReadonlySet<string> = new Set();

/**
 * The f32 temporaries that lie in memory as bf16: their op can store that, and all of their readers would round them to bf16
 * anyway. So results have the same bits, and the temporaries half the bytes.
 */
export function bf16Temporaries({ ops }: Plan, manifest: Manifest): ReadonlySet<Storage> {
  const chosen = new Set<Storage>();
  for (const op of ops) {
    if (supportOf({ manifest }, op.op.name)?.stores)
      for (const { storage, dtype } of op.outputs) if (dtype === 'f32' && !storage.kept) chosen.add(storage);
    const rounded = roundedOperands(op, manifest);
    Object.keys(op.op.operands).forEach((name, i) => {
      const operand = op.operands[i];
      if (operand?.kind === 'tensor' && !rounded.has(name)) chosen.delete(operand.storage);
    });
  }
  return chosen;
}
