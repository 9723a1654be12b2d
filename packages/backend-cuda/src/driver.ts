import { BackendError, type PlanDriver } from '@quern/core';
import { nativeDriver } from '@quern/native-runtime';
import { ggufFormats } from './formats.js';
import { loadCudaAddon } from './load.js';
import { blockSizes, manifest } from './manifest.js';

export interface CudaOptions {
  /** Number of the device, from 0 on; default 0. */
  readonly device?: number | undefined;
}

/**
 * The driver of one NVIDIA GPU. Rejects with UNSUPPORTED without a binary, without NVIDIA's driver, or if the device does
 * not exist or is too old; with BAD_ARGUMENT for a wrong `device`.
 */
export async function cudaDriver({ device = 0 }: CudaOptions = {}): Promise<PlanDriver> {
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
      kvQuant: { dtypes: ['bf16', 'int8'] },
      moeFused: true,
    },
    options: { device, library: process.env.QUERN_CUDA_LIBRARY || 'libcuda.so.1' },
  });
}
