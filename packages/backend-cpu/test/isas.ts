import { cpuDriver } from '../src/index.js';

/** The instruction sets that this machine can run, best first. */
export async function availableIsas(): Promise<string[]> {
  const isas: string[] = [];
  for (const isa of ['amx', 'avx512-vnni', 'avx512', 'avx2', 'scalar'])
    try {
      (await cpuDriver({ isa, threads: 1 })).dispose();
      isas.push(isa);
    } catch {
      console.warn(`skipped: this machine cannot run ${isa}`);
    }
  return isas;
}
