import { homedir } from 'node:os';
import { join } from 'node:path';
import { BackendError, type PlanDriver, type Precision } from '@quern/core';
import { checkedPrecision, nativeDriver } from '@quern/native-runtime';
import { ggufFormats } from './formats.js';
import { loadMetalAddon } from './load.js';
import { blockSizes, manifest } from './manifest.js';

export interface MetalOptions {
  /** Number of the GPU, from 0 on; default 0. */
  readonly device?: number | undefined;
  /** How products may round. This backend computes products of floats at each of them. */
  readonly precision?: Precision | undefined;
  /** Of other backends; ignored. */
  readonly threads?: number | undefined;
  /** Of other backends; ignored. */
  readonly isa?: string | undefined;
}

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
export async function metalDriver({ device = 0, precision }: MetalOptions = {}): Promise<PlanDriver> {
  if (!Number.isInteger(device) || device < 0)
    throw new BackendError('BAD_ARGUMENT', `device must be a whole number, 0 or more; got ${device}`);
  return nativeDriver(loadMetalAddon(), {
    name: `metal:${device}`,
    kind: 'gpu',
    manifest,
    capabilities: {
      pagedKv: { blockSizes },
      quantGguf: { formats: ggufFormats },
      quantGptq: { bits: [4, 8] },
      kvQuant: { dtypes: ['bf16', 'int8', 'fp8'] },
      moeFused: true,
    },
    options: {
      device,
      library: metalLibrary(),
      precision: checkedPrecision(precision),
      cache: kernelFolder(),
    },
    ceilings: true,
  });
}
