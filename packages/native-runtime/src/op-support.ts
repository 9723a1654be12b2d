import { type AnyOp, coreOps, type DType, type FusedOpName, fusedOps, type OpSupport } from '@quern/core';
import { nativeCoreOps, nativeFusedOps } from './generated/ops.js';

type Supports<Name extends string> = Readonly<Record<Name, OpSupport>>;

/** f32, and the other floats that an op takes. */
const floatsOf = ({ operands }: AnyOp): DType[] => {
  const taken = Object.values(operands).flatMap(({ kind, dtypes = [] }) => (kind === 'tensor' ? dtypes : []));
  return [...new Set<DType>(['f32', ...taken])].filter((dtype) => dtype !== 'i32');
};

/** What a manifest claims for an op, besides the floats that it takes. */
type Claim = (op: string) => Omit<OpSupport, 'dtypes'>;

/** The claims for those of `names` that are in `known`, the op table of the installed core. */
export function claims<Name extends string>(
  names: readonly Name[],
  known: Readonly<Record<string, AnyOp>>,
  claim: Claim,
): Supports<Name> {
  const supported = names.flatMap((name): [string, OpSupport][] => {
    const op = known[name];
    return op ? [[name, { dtypes: floatsOf(op), ...claim(name) }]] : [];
  });
  return Object.fromEntries(supported) as Supports<Name>;
}

/** Operands that joined an op later, and that native/quern knows. */
export const takes = (op: string): Pick<OpSupport, 'takes'> =>
  op === 'attention' ? { takes: ['sinks'] } : {};

/**
 * Claims for every core op of native/quern. Does not compile if a core op required of every driver is missing in
 * `Manifest.ops`.
 */
export const coreClaims = (claim: Claim) => claims(nativeCoreOps, coreOps, claim);

/** Claims for every fused op but `without`. */
export const fusedClaims = (claim: Claim, without: readonly FusedOpName[]): Partial<Supports<FusedOpName>> =>
  claims(
    nativeFusedOps.filter((op) => !without.includes(op)),
    fusedOps,
    claim,
  );
