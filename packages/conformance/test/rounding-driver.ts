import {
  bf16ToF32,
  elements,
  f32ToBf16,
  type HostBuffer,
  type Kernel,
  type KernelDriver,
  type KernelMemory,
  type KernelWeight,
  type Manifest,
  type OpSupport,
} from '@quern/core';
import { richDriver } from './rich-driver.js';

const rounded = (value: number): number => bf16ToF32(f32ToBf16(value));

/** A tensor rounded to bf16, still in f32. A bf16 tensor stays unchanged. */
export function roundOperand(tensor: KernelMemory): KernelMemory {
  if (tensor.dtype !== 'f32') return tensor;
  const values = Float32Array.from(elements(tensor), rounded);
  return { ...tensor, byteOffset: 0, buffer: { id: -1, bytes: values.buffer } as HostBuffer };
}

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
