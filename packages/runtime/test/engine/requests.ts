import { type SampledToken, samplingParams } from '../../src/engine/sampling/params.js';

/** Always the likeliest token. */
export const greedy = samplingParams({ temperature: 0 });

export const idsOf = (found: readonly SampledToken[]): number[] => found.map(({ token }) => token);
