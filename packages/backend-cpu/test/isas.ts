import { cases } from '../../../test-scope.js';
import { cpuDriver } from '../src/index.js';

/** Instruction sets of the addon for this architecture, best first. */
const knownIsas =
  process.arch === 'arm64'
    ? ['i8mm', 'dotprod', 'neon', 'scalar']
    : ['amx', 'avx512-bf16', 'avx512-vnni', 'avx512', 'avx2', 'scalar'];

/** Instruction sets of this machine, best first. */
export async function availableIsas(): Promise<string[]> {
  const isas: string[] = [];
  for (const isa of knownIsas)
    try {
      (await cpuDriver({ isa, threads: 1 })).dispose();
      isas.push(isa);
    } catch {
      console.warn(`skipped: this machine cannot run ${isa}`);
    }
  return isas;
}

/** Instruction sets under test: the best one; with `npm run test:all`, all. */
export async function testedIsas(): Promise<readonly string[]> {
  const isas = await availableIsas();
  return cases(isas, isas.slice(0, 1));
}
