import { type AnyOp, type DType, fills, type OpSupport, type OptionalOpName } from '@quern/core';
import type { Operands } from '../values/numbers.js';

/** Why a case exceeds the driver's claims for an op; undefined if it does not. */
export function beyondClaim(
  op: AnyOp,
  support: OpSupport | undefined,
  operands: Operands,
): string | undefined {
  if (!support) return `the manifest does not claim '${op.name}'`;
  for (const [name, { format }] of Object.entries(operands)) {
    const { kind, claimed } = op.operands[name] ?? {};
    if (claimed && !support.takes?.includes(name)) return `the manifest claims no '${name}' for '${op.name}'`;
    if (kind === 'weight' && !support.weightFormats?.includes(format))
      return `the manifest claims no ${format} weights for '${op.name}'`;
    if (kind === 'buffer' && !support.cacheDtypes?.includes(format as DType))
      return `the manifest claims no ${format} caches for '${op.name}'`;
    if (kind === 'tensor' && format !== 'i32' && !support.dtypes.includes(format as DType))
      return `the manifest claims no ${format} for '${op.name}'`;
  }
  return undefined;
}

/** Whether a backend computes the op: the driver has a kernel, or core fills it. */
export const isComputed = (support: OpSupport | undefined, { name }: AnyOp): boolean =>
  support !== undefined || (name in fills && fills[name as OptionalOpName] !== 'refuse');
