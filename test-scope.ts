/**
 * What a run of the tests covers. `npm test` holds every promise once: on the best instruction set of the machine, with the first seeds.
 * `npm run test:all` (QUERN_TEST=all) covers the rest: every instruction set, every seed, whole fuzz runs.
 */
export const exhaustive = process.env.QUERN_TEST === 'all';

/**
 * `npm run test:all` draws one of two neighbours that share most of their code, and tests the other in short: QUERN_DRAW is 0 or 1.
 * Without it (Jest alone, seeds.mjs) both are tested in full.
 */
export const isDrawn = (neighbour: 0 | 1): boolean =>
  process.env.QUERN_DRAW === undefined || Number(process.env.QUERN_DRAW) === neighbour;

/**
 * Processors of the emulated GPU of NVIDIA in the conformance kit, on which choices of the host depend: one, or 132 as an H100 has.
 * QUERN_EMULATED_SEED draws them: 132 for 2, 3, 6, 7, ….
 */
export const emulatedProcessors: string =
  process.env.QUERN_EMULATED_PROCESSORS ??
  (Math.floor(Number(process.env.QUERN_EMULATED_SEED ?? 0) / 2) % 2 === 0 ? '1' : '132');

/** All cases, or those of `npm test`. */
export const cases = <T>(all: readonly T[], quick: readonly T[]): readonly T[] => (exhaustive ? all : quick);

/** Runs of a property: `all`, or a tenth of them, at least 20. */
export const runs = (all: number): number =>
  exhaustive ? all : Math.min(all, Math.max(20, Math.ceil(all / 10)));

/** The instruction set of backend-cpu that QUERN_CPU_ISA forces: the only one under test. */
export const forcedIsa: string | undefined = process.env.QUERN_CPU_ISA || undefined;
