import { createBackend as createCpu } from '@quern/backend-cpu';
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { exhaustive, forcedIsa, isDrawn } from '../../../test-scope.js';

/** A backend under test, and the allowed error of its logits in units of the reference's tolerance. */
export interface TestedBackend {
  readonly name: string;
  readonly slack: number;
  /**
   * Error from rounded activations, relative to the largest logit. q8: 8-bit activations of quantised weights; f16:
   * bf16 activations of 16-bit weights.
   */
  readonly rounding: { readonly q8: number; readonly f16: number };
  open(): Promise<Backend>;
}

/** f32 sums in another order: logits up to about 3 change by a few ulps. */
const float32Slack = 2;

const knownIsas =
  process.arch === 'arm64'
    ? ['scalar', 'neon', 'dotprod', 'i8mm']
    : ['scalar', 'avx2', 'avx512', 'avx512-vnni', 'avx512-bf16', 'amx'];
const isas = forcedIsa === undefined ? knownIsas : [forcedIsa];

/**
 * A GPU backend on the emulated device, with products of floats. Those with blocks sum quants before they multiply with
 * scales.
 */
const emulatedGpu = (name: string, createBackend: () => Promise<Backend>): TestedBackend => ({
  name,
  slack: float32Slack,
  rounding: { q8: 1e-5, f16: 0 },
  open: createBackend,
});

async function emulatedGpus(): Promise<TestedBackend[]> {
  await import('../../backend-cuda/test/emulated.js');
  await import('../../backend-metal/test/emulated.js');
  const cuda = await import('../../backend-cuda/src/index.js');
  const metal = await import('../../backend-metal/src/index.js');
  return [
    emulatedGpu('an emulated GPU of NVIDIA', () => cuda.createBackend({ precision: 'exact' })),
    emulatedGpu('an emulated GPU of Apple', () => metal.createBackend()),
  ].filter((_, i) => isDrawn(i as 0 | 1));
}

/**
 * The reference backend, and the CPU backend with every instruction set of this machine or the forced one; with
 * `npm run test:all` emulated GPUs (a run of CI draws one).
 */
export async function testedBackends(): Promise<TestedBackend[]> {
  const tested: TestedBackend[] = [
    { name: 'reference', slack: 1, rounding: { q8: 0, f16: 0 }, open: createReference },
  ];
  for (const isa of isas)
    try {
      (await createCpu({ isa })).dispose();
      tested.push({
        name: `cpu ${isa}`,
        slack: float32Slack,
        rounding: { q8: isa === 'scalar' ? 0 : 0.05, f16: isa === 'avx512-bf16' ? 0.02 : 0 },
        open: () => createCpu({ isa, threads: 2 }),
      });
    } catch (error) {
      console.warn(`skipped: cpu ${isa}: ${(error as Error).message}`);
    }
  if (exhaustive) tested.push(...(await emulatedGpus()));
  return tested;
}
