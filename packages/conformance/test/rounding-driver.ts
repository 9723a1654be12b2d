import type { Kernel, KernelDriver, KernelMemory, KernelWeight, Manifest, OpSupport } from '@quern/core';
import { richDriver } from './rich-driver.js';
import { roundOperand } from './round-operand.js';

/** As in 16-bit tensor units: x is rounded if the weights are bf16. */
const roundsX =
  (kernel: Kernel, weight: string): Kernel =>
  (operands, ...rest) => {
    const x = operands.x as KernelMemory;
    const isBf16 = (operands[weight] as KernelWeight).format === 'bf16';
    return kernel({ ...operands, x: isBf16 ? roundOperand(x) : x }, ...rest);
  };

const rounds = { x: ['bf16'] } as const;
const stores = ['bf16'] as const;

const claims: Readonly<Record<string, Pick<OpSupport, 'rounds' | 'stores'>>> = {
  linear: { rounds, stores },
  gateUpSwiglu: { rounds, stores },
  rmsNorm: { stores },
  addRmsNorm: { stores },
  silu: { stores },
  add: { stores },
  attention: { stores },
};

const withClaims = <Ops extends Readonly<Record<string, OpSupport>>>(ops: Ops): Ops =>
  Object.fromEntries(
    Object.entries(ops).map(([name, support]) => [name, { ...support, ...claims[name] }]),
  ) as Ops;

/** The rich driver on a device that multiplies in bf16, and stores as bf16 the temporaries that it rounds anyway. */
export function roundingDriver(): KernelDriver {
  const driver = richDriver();
  const { ops, fused = {} } = driver.manifest;
  const manifest: Manifest = { ops: withClaims(ops), fused: withClaims(fused as Record<string, OpSupport>) };
  const { linear, gateUpSwiglu } = driver.kernels;
  return {
    ...driver,
    name: 'rounding',
    manifest,
    kernels: {
      ...driver.kernels,
      linear: roundsX(linear, 'w'),
      gateUpSwiglu: roundsX(gateUpSwiglu!, 'gate'),
    },
  };
}
