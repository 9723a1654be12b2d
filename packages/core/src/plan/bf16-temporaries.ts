import type { Manifest } from '../driver.js';
import { supportOf } from '../manifest.js';
import type { Plan, PlanOp, Storage } from './plan.js';

/** Whether a driver stores any output in bf16. If not, this pass is skipped. */
export const storesBf16 = ({ ops, fused }: Manifest): boolean =>
  [...Object.values(ops), ...Object.values(fused ?? {})].some(({ stores }) => stores !== undefined);

/** Formats of the op's matrices and caches. */
const formatsOf = ({ operands }: PlanOp): string[] =>
  operands.flatMap((operand) => {
    if (operand?.kind === 'buffer') return [operand.dtype];
    return operand?.kind === 'weight' && operand.shape.length > 1 ? [operand.format] : [];
  });

/** Operands that an op rounds to bf16 first. */
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
 * f32 temporaries to store as bf16: the op that makes the temporary can store bf16, and every reader would round it to
 * bf16 anyway. Results keep the same bits; the temporaries take half the bytes.
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
