import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BackendError, type PlanDriver, type Precision } from '@quern/core';
import { checkedPrecision, loadAddon, nativeDriver } from '@quern/native-runtime';
import { ggufFormats } from './formats.js';
import { blockSizes, manifest } from './manifest.js';

export interface CudaOptions {
  /** Number of the device, from 0 on; default 0. */
  readonly device?: number | undefined;
  /** How products may round; default 'standard'. */
  readonly precision?: Precision | undefined;
}

/** Bundlers that convert ESM to CommonJS leave `import.meta.url` empty; `__filename` exists then. */
const here = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

const loadCudaAddon = () =>
  loadAddon({
    packageName: '@quern/backend-cuda',
    from: here,
    candidates: [process.env.QUERN_CUDA_BINARY || resolve(here, '../../build/Release/backend_cuda.node')],
    help: ['To build it here (needs CMake and a C++20 compiler): npx cmake-js build'],
  });

/**
 * The driver of one NVIDIA GPU. Rejects with UNSUPPORTED without a binary, without NVIDIA's driver, or if the device does
 * not exist or is too old; with BAD_ARGUMENT for a wrong `device` or an
 * unknown `precision`.
 */
export async function cudaDriver({ device = 0, precision }: CudaOptions = {}): Promise<PlanDriver> {
  if (!Number.isInteger(device) || device < 0)
    throw new BackendError('BAD_ARGUMENT', `device must be a whole number, 0 or more; got ${device}`);
  return nativeDriver(loadCudaAddon(), {
    name: device === 0 ? 'cuda' : `cuda:${device}`,
    kind: 'gpu',
    manifest,
    capabilities: {
      pagedKv: { blockSizes },
      quantGguf: { formats: ggufFormats },
      quantGptq: { bits: [4, 8] },
      kvQuant: { dtypes: ['bf16', 'int8'] },
      moeFused: true,
    },
    options: {
      device,
      library: process.env.QUERN_CUDA_LIBRARY || 'libcuda.so.1',
      precision: checkedPrecision(precision),
    },
  });
}
