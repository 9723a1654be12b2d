import type { PlanDriver } from '@quern/core';
import { type GpuOptions, gpuDriver } from '@quern/native-runtime';
import { loadCudaAddon } from './load.js';

export type CudaOptions = GpuOptions;

/** The library in the place of NVIDIA's driver (QUERN_CUDA_LIBRARY); undefined: the driver. */
export const cudaLibrary = (): string | undefined => process.env.QUERN_CUDA_LIBRARY || undefined;

/**
 * The driver of one NVIDIA GPU. Rejects with UNSUPPORTED without a binary, without NVIDIA's driver, or if the device does
 * not exist or is too old; with BAD_ARGUMENT for a wrong `device` or an unknown `precision`.
 */
export const cudaDriver = (options: CudaOptions = {}): Promise<PlanDriver> =>
  gpuDriver({
    backend: 'cuda',
    load: loadCudaAddon,
    options,
    settings: { library: cudaLibrary(), rates: process.env.QUERN_CUDA_RATES || undefined },
  });
