import type { Precision } from '@quern/core';
import { cases, exhaustive, forcedIsa, isDrawn } from '../../../test-scope.js';
import { cpuDriver } from '../src/index.js';

/** Instruction sets of the addon for this architecture, best first. */
export const knownIsas =
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

/** Neighbours in the middle: each run of `npm run test:all` draws one of them. */
const neighbours = ['avx512-vnni', 'avx512'] as const;

/** Instruction sets under test: the forced or best one; with `npm run test:all`, all but the neighbour that is not drawn. */
export async function testedIsas(): Promise<readonly string[]> {
  if (forcedIsa !== undefined) return [forcedIsa];
  const isas = await availableIsas();
  const leftOut = neighbours.filter((_, i) => !isDrawn(i as 0 | 1));
  const drawn = isas.filter((isa, i) => i === 0 || !leftOut.some((each) => each === isa));
  return cases(drawn, isas.slice(0, 1));
}

/** Instruction sets with kernels of many rows that only `fast` takes. */
const coarse = ['amx', 'avx512-bf16', 'avx512-vnni'];

/** A driver's options under test: an instruction set with each precision that takes other kernels there. */
export async function testedKernels(): Promise<readonly { isa: string; precision: Precision }[]> {
  const isas = await testedIsas();
  return isas.flatMap((isa) => {
    const precisions: Precision[] = ['standard'];
    if (coarse.includes(isa)) precisions.push('fast');
    if (exhaustive && isa === isas[0]) precisions.push('exact'); // the same float products on all
    return precisions.map((precision) => ({ isa, precision }));
  });
}
