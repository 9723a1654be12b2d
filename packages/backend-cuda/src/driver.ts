import { BackendError, type PlanDriver, type Precision } from '@quern/core';
import { checkedPrecision, nativeDriver } from '@quern/native-runtime';
import { ggufFormats } from './formats.js';
import { loadCudaAddon } from './load.js';
import { blockSizes, manifest } from './manifest.js';

export interface CudaOptions {
  /** Number of the device, from 0 on; default 0. */
  readonly device?: number | undefined;
  /** How products may round; default 'standard'. */
  readonly precision?: Precision | undefined;
  /** Of other backends; ignored. */
  readonly threads?: number | undefined;
  /** Of other backends; ignored. */
  readonly isa?: string | undefined;
}

/** NVIDIA's driver, or the library in its place (QUERN_CUDA_LIBRARY). */
export const cudaLibrary = (): string => process.env.QUERN_CUDA_LIBRARY || 'libcuda.so.1';

/**
 * The driver of one NVIDIA GPU. Rejects with UNSUPPORTED without a binary, without NVIDIA's driver, or if the device does
 * not exist or is too old; with BAD_ARGUMENT for a wrong `device` or an unknown `precision`.
 */
export async function cudaDriver({ device = 0, precision }: CudaOptions = {}): Promise<PlanDriver> {
  if (!Number.isInteger(device) || device < 0)
    throw new BackendError('BAD_ARGUMENT', `device must be a whole number, 0 or more; got ${device}`);
  return nativeDriver(loadCudaAddon(), {
    name: `cuda:${device}`,
    kind: 'gpu',
    manifest,
    capabilities: {
      pagedKv: { blockSizes },
      quantGguf: { formats: ggufFormats },
      quantGptq: { bits: [4, 8] },
      kvQuant: { dtypes: ['bf16', 'int8', 'fp8'] },
      moeFused: true,
    },
    options: { device, library: cudaLibrary(), precision: checkedPrecision(precision) },
    ceilings: true,
  });
}
