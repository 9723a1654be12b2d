import { BackendError, hostLinks, type PlanDriver } from '@quern/core';
import { nativeDriver } from '@quern/native-runtime';
import { ggufFormats } from './formats.js';
import { loadCpuAddon } from './load.js';
import { blockSizes, manifest } from './manifest.js';

export interface CpuOptions {
  /** Threads that compute; when absent one per physical core, as the README says. */
  readonly threads?: number | undefined;
  /** Instruction set: 'amx', 'avx512-bf16', 'avx512-vnni', 'avx512', 'avx2', 'scalar'. QUERN_CPU_ISA, or the best this machine has, when absent. */
  readonly isa?: string | undefined;
}

/**
 * The native CPU driver, with its threads running and the machine measured (about 30 ms the first time).
 * Rejects with UNSUPPORTED where there is no binary for this platform or it cannot run `isa`, BAD_ARGUMENT for `threads`.
 */
export async function cpuDriver({ threads, isa }: CpuOptions = {}): Promise<PlanDriver> {
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
    options: { threads: threads ?? 0, isa: isa ?? process.env.QUERN_CPU_ISA ?? '' },
    ceilings: true,
  });
}
