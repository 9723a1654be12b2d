import { BackendError, hostLinks, type PlanDriver, type Precision } from '@quern/core';
import { checkedPrecision, nativeDriver } from '@quern/native-runtime';
import { ggufFormats } from './formats.js';
import { loadCpuAddon } from './load.js';
import { blockSizes, manifest } from './manifest.js';

export interface CpuOptions {
  /** Compute threads; default: one per physical core, see the README. */
  readonly threads?: number | undefined;
  /**
   * Instruction set: 'amx', 'avx512-bf16', 'avx512-vnni', 'avx512', 'avx2', 'scalar'. Default: QUERN_CPU_ISA, else the
   * best of this machine.
   */
  readonly isa?: string | undefined;
  /** How products and attention may round; default 'standard'. */
  readonly precision?: Precision | undefined;
}

/**
 * The native CPU driver: threads are running and the machine is measured (about 30 ms in the first call). Rejects with
 * UNSUPPORTED without a binary for this platform, or if this machine cannot run `isa`; with BAD_ARGUMENT for wrong
 * `threads` or an unknown `precision`.
 */
export async function cpuDriver({ threads, isa, precision }: CpuOptions = {}): Promise<PlanDriver> {
  if (threads !== undefined && (!Number.isInteger(threads) || threads < 1))
    throw new BackendError('BAD_ARGUMENT', `threads must be a whole number of 1 or more; got ${threads}`);
  return nativeDriver(loadCpuAddon(), {
    name: 'cpu',
    kind: 'cpu',
    profile: { sharesHostMemory: true, links: hostLinks() },
    manifest,
    capabilities: {
      pagedKv: { blockSizes },
      quantGguf: { formats: ggufFormats },
      quantGptq: { bits: [4, 8] },
      kvQuant: { dtypes: ['bf16', 'int8'] },
      moeFused: true,
    },
    options: {
      threads: threads ?? 0,
      isa: isa ?? process.env.QUERN_CPU_ISA ?? '',
      precision: checkedPrecision(precision),
    },
    ceilings: true,
  });
}
