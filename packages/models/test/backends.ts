import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend } from '@quern/core';

/** A backend to test on, and how many times the reference's tolerance its logits may differ. */
export interface TestedBackend {
  readonly name: string;
  readonly slack: number;
  /** To 8 bits, where they meet quantised weights. */
  readonly roundsActivations: boolean;
  open(): Promise<Backend>;
}

/** Sums of float32 in another order: the logits of these models, up to about 3, move by a few ulps. */
const float32Slack = 2;

/** The reference, and the CPU backend with every instruction set of this machine. */
export async function testedBackends(): Promise<TestedBackend[]> {
  const tested: TestedBackend[] = [
    { name: 'reference', slack: 1, roundsActivations: false, open: createReference },
  ];
  for (const isa of ['scalar', 'avx2', 'avx512', 'avx512-vnni', 'amx'])
    try {
      (await createCpu({ isa })).dispose();
      tested.push({
        name: `cpu ${isa}`,
        slack: float32Slack,
        roundsActivations: isa !== 'scalar',
        open: () => createCpu({ isa, threads: 2 }),
      });
    } catch (error) {
      console.warn(`skipped: cpu ${isa}: ${(error as Error).message}`);
    }
  return tested;
}
