import { BackendError, type Manifest, type PlanDriver, type Precision } from '@quern/core';
import type { Addon, NativeOptions } from './addon.js';
import { fullManifest } from './full-manifest.js';
import { gpuFormats } from './gpu-formats.js';
import { nativeDriver } from './native-driver.js';
import { checkedPrecision } from './precision.js';

/** Options of a backend on the shared GPU kernels (packages/gpu). */
export interface GpuOptions {
  /** Number of the GPU, from 0 on; default 0. */
  readonly device?: number | undefined;
  /** How products may round; default 'standard'. */
  readonly precision?: Precision | undefined;
  /** Of other backends; ignored. */
  readonly threads?: number | undefined;
  /** Of other backends; ignored. */
  readonly isa?: string | undefined;
}

const known = ['device', 'precision', 'threads', 'isa'];

/** Throws BAD_ARGUMENT for an unknown option. */
export function checkGpuOptions(options: object): void {
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined)
    throw new BackendError('BAD_ARGUMENT', `there is no option '${other}'; there are ${known.join(', ')}`);
}

/** GPTQ matrices with columns reordered by group (act-order): `linear` reorders its input to match. */
const orderedGptq = 'gptq';

/** Block sizes (tokens) with which attention is as fast as with one block. */
const blockSizes: readonly number[] = [8, 16, 32, 64, 128, 256];

/** Every core op, and every fused op but changes by adapters and masked logits, which run as plain ops. */
const manifest: Manifest = fullManifest(
  (op) => [...gpuFormats, ...(op === 'linear' ? [orderedGptq] : [])],
  undefined,
  ['addLowRank', 'linearMask'],
);

export interface GpuDriverSpec {
  /** 'cuda' of 'cuda:0'. */
  readonly backend: string;
  /** Called after `device` is checked. */
  readonly load: () => Addon;
  readonly options: GpuOptions;
  /** For `make_device`, beside `device` and `precision`. */
  readonly settings: NativeOptions;
}

/**
 * The driver of one GPU. Rejects with BAD_ARGUMENT for a wrong `device` or an unknown `precision`; as `load` and
 * `make_device` do.
 */
export async function gpuDriver({ backend, load, options, settings }: GpuDriverSpec): Promise<PlanDriver> {
  const { device = 0, precision } = options;
  if (!Number.isInteger(device) || device < 0)
    throw new BackendError('BAD_ARGUMENT', `device must be a whole number, 0 or more; got ${device}`);
  return nativeDriver(load(), {
    name: `${backend}:${device}`,
    kind: 'gpu',
    manifest,
    capabilities: {
      pagedKv: { blockSizes },
      quantGguf: { formats: gpuFormats },
      quantGptq: { bits: [4, 8] },
      kvQuant: { dtypes: ['bf16', 'int8', 'fp8'] },
      moeFused: true,
    },
    options: { ...settings, device, precision: checkedPrecision(precision) },
    ceilings: 'child',
  });
}
