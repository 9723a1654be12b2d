import { homedir } from 'node:os';
import { join } from 'node:path';
import type { PlanDriver } from '@quern/core';
import { type GpuOptions, gpuDriver } from '@quern/native-runtime';
import { loadMetalAddon } from './load.js';

/** `precision` changes nothing: products are products of floats. */
export type MetalOptions = GpuOptions;

/** Metal of the system, or the library in its place (QUERN_METAL_LIBRARY). */
export const metalLibrary = (): string => process.env.QUERN_METAL_LIBRARY || 'metal';

/** The folder of compiled kernels (QUERN_METAL_CACHE; an empty value: none). */
function kernelFolder(): string {
  const own = process.env.QUERN_METAL_CACHE;
  if (own !== undefined) return own;
  return process.platform === 'darwin'
    ? join(homedir(), 'Library/Caches/quern')
    : join(homedir(), '.cache/quern/metal');
}

/**
 * The driver of one GPU of Apple. Rejects with UNSUPPORTED without a binary, on another system than macOS, or if the GPU
 * or the system is too old; with BAD_ARGUMENT for a wrong `device` or an unknown `precision`.
 */
export const metalDriver = (options: MetalOptions = {}): Promise<PlanDriver> =>
  gpuDriver({
    backend: 'metal',
    load: loadMetalAddon,
    options,
    settings: { library: metalLibrary(), cache: kernelFolder() },
  });
