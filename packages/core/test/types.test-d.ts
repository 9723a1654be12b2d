// Promises of the types: `tsc` is the test. Each line after @ts-expect-error must not compile.
import {
  type Backend,
  type CoreOpName,
  coreOps,
  type DriverCapabilities,
  has,
  type KernelDriver,
  type LlmBackend,
  type Manifest,
  type MoeLlmBackend,
  need,
  type OpSupport,
  type PagedKv,
  type QuantLlmBackend,
  type Tensor,
  type Weight,
  type With,
} from '../src/index.js';

declare const backend: Backend;
declare const tensor: Tensor;
declare const weight: Weight;
declare const support: OpSupport;
const options = {
  layers: 1,
  kvHeads: 1,
  headDim: 8,
  dtype: 'f32',
  context: 8,
  blocks: 1,
  blockSize: 8,
} as const;

export function capabilitiesAreOptional(): void {
  // @ts-expect-error a backend may have no paged cache
  backend.pagedKv.createCache(options);
  // @ts-expect-error nor graphs
  backend.graph.capture(backend.step());
  backend.pagedKv?.createCache(options);
}

export function hasNarrows(): PagedKv | undefined {
  if (!has(backend, 'pagedKv', 'graph')) return undefined;
  backend.graph.capture(backend.step());
  // @ts-expect-error only what was asked for
  backend.timer.run(backend.step());
  // @ts-expect-error there is no such capability
  has(backend, 'teleport');
  return backend.pagedKv;
}

export function needNarrows(): With<'quantGguf' | 'timer'> {
  // @ts-expect-error not known yet
  backend.quantGguf.formats;
  need(backend, 'quantGguf', 'timer');
  backend.quantGguf.formats.has('q4_k');
  // @ts-expect-error only what was asked for
  backend.collective.worldSize;
  return backend;
}

export function bundles(quant: QuantLlmBackend, moe: MoeLlmBackend): LlmBackend[] {
  quant.quantGguf.formats;
  // @ts-expect-error a mixture of experts does not ask for block formats
  moe.quantGguf.formats;
  // @ts-expect-error the larger bundle asks for more
  const more: QuantLlmBackend = moe;
  const spelled: LlmBackend = quant as With<'pagedKv' | 'graph' | 'quantGguf'>;
  return [quant, moe, more, spelled];
}

export function opsTakeWhatTheyShould(): void {
  backend.linear(tensor, weight, { bias: undefined });
  // @ts-expect-error a weight is no tensor
  backend.add(weight, tensor);
  // @ts-expect-error nor a tensor a weight
  backend.linear(tensor, tensor);
  // @ts-expect-error eps is not optional
  backend.rmsNorm(tensor, weight, {});
  // @ts-expect-error there are two forms
  backend.gelu(tensor, { form: 'sigmoid' });
  // @ts-expect-error casts are to floating dtypes
  backend.cast(tensor, 'i32');
  const spec = { blocks: 1, blockSize: 1, heads: 1, headDim: 2, dtype: 'f32' } as const;
  const layer = { k: backend.kvBuffer(spec), v: backend.kvBuffer(spec) };
  // @ts-expect-error an append gives nothing back
  const appended: Tensor = backend.kvAppend(layer, tensor, tensor, tensor);
  backend.silu(appended);
  // @ts-expect-error handles are read-only
  tensor.shape[0] = 1;
}

/** A hole in a manifest does not compile. */
export const whole = Object.fromEntries(Object.keys(coreOps).map((op) => [op, support])) as Record<
  CoreOpName,
  OpSupport
>;
const { linear, ...holed } = whole;
// @ts-expect-error no linear
export const manifest: Manifest = { ops: holed };
export const filled: Manifest = { ops: { ...holed, linear } };
// @ts-expect-error there is no such fused op
export const misspelt: Manifest = { ops: whole, fused: { addRmsNrom: support } };

/** Nor does a misspelt kernel or capability. */
export const kernels = { ...({} as KernelDriver['kernels']) } satisfies KernelDriver['kernels'];
// @ts-expect-error no such capability
export const capabilities: DriverCapabilities = { pagedKV: { blockSizes: [16] } };
// @ts-expect-error limits are part of the claim
export const limits: DriverCapabilities = { pagedKv: {} };
