import {
  type AnyOp,
  cacheDtypes,
  coreOps,
  denseFormats,
  type FusedOpName,
  fusedOps,
  type Manifest,
  type OpSupport,
} from '@quern/core';

const support: OpSupport = {
  dtypes: ['f32', 'f16', 'bf16'],
  weightFormats: denseFormats,
  cacheDtypes,
};

/** `sample` sums probabilities in float64: core computes it on the host. */
const float64: readonly string[] = ['sample'];

/** Mixtures of experts run from plain ops. */
const unfused: readonly string[] = ['moe'];

/** Tensor units of 16 bits: x is rounded to bf16 where the matrices have 16 bits. */
const products = { x: ['f16', 'bf16'] } as const;

/** By op: operands rounded to bf16, with these formats of matrices and caches. */
const rounds: Readonly<Record<string, OpSupport['rounds']>> = {
  linear: products,
  expertLinear: products,
  gateUpSwiglu: products,
  qkvLinear: products,
  biasGelu: products,
  linearArgmax: products,
  kvAppend: { k: ['bf16'], v: ['bf16'] },
  qkNormRopeAppend: { v: ['bf16'] }, // q and k are normed and rotated in f32
};

/** Ops without an output of f32; `cast`, whose output has the dtype asked for; `topK`, whose values are few. */
const unstored: readonly string[] = ['argmax', 'cast', 'kvAppend', 'linearArgmax', 'topK'];

function claimOf(name: string): OpSupport {
  const rounded = rounds[name];
  return {
    ...support,
    ...(rounded && { rounds: rounded }),
    ...(unstored.includes(name) ? {} : { stores: ['bf16'] }),
  };
}

const claims = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, claimOf(name)]));

const ops = Object.keys(coreOps).filter((name) => !float64.includes(name));
const fused = (Object.keys(fusedOps) as FusedOpName[]).filter((name) => !unfused.includes(name));

/** The claims of the driver. The device refuses a plan that goes beyond them. */
export const manifest = { ops: claims(ops), fused: claims(fused) } as Manifest;

const claimed: Readonly<Record<string, OpSupport>> = { ...manifest.ops, ...manifest.fused };

/** Names of the operands that an op rounds to bf16, with matrices and caches of these formats. */
export const roundedWith = ({ name }: AnyOp, formats: readonly string[]): readonly string[] =>
  Object.entries(claimed[name]?.rounds ?? {}).flatMap(([operand, allowed]) =>
    formats.length > 0 && formats.every((format) => allowed.some((one) => one === format)) ? [operand] : [],
  );

/** Whether an op can store its f32 outputs as bf16. */
export const storesBf16 = ({ name }: AnyOp): boolean => claimed[name]?.stores !== undefined;
