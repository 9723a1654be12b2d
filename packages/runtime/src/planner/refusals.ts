import { showLayers } from '@quern/models';
import { showBytes } from './memory.js';
import type { PartFit } from './part-fit.js';
import type { PlanRequest } from './plan-request.js';
import type { PlannedModel, PlannerDevice } from './planner-device.js';

/** "'cpu' (AMD EPYC, avx512, 2 threads)" */
export function showDevice({ backend, profile }: PlannerDevice): string {
  const { name, isa, threads, kind } = profile;
  const unit = kind === 'gpu' ? 'multiprocessor' : 'thread';
  return `'${backend}' (${name}, ${isa}, ${threads} ${threads === 1 ? unit : `${unit}s`})`;
}

/** The part of a message about weights larger than in the file, with advice. */
export const decodedNote = ({ decoded }: PlannerDevice): string =>
  decoded.length === 0
    ? ''
    : ` (it does not read ${decoded.join(', ')}, so these weights are decoded: a format that it reads, or a backend that reads these, takes less)`;

export function needs(model: PlannedModel, { device, from, to, weights, activations }: PartFit): string {
  const isWhole = from === 0 && to === model.config.layers;
  const what = isWhole
    ? 'the model is too large'
    : `too large for '${device.backend}', ${showLayers({ from, to })}`;
  return (
    `${what}: ${showBytes(weights)} of weights and ${showBytes(activations)} of activations do not fit in the ` +
    `${showBytes(device.freeMemory)} that are free on '${device.backend}' (a sixteenth stays free)${decodedNote(device)}`
  );
}

/** "a context of 4096 for each of 8 sequences" */
export const showContext = ({ context, sequences }: Pick<PlanRequest, 'context' | 'sequences'>): string =>
  `a context of ${context}${sequences === 1 ? '' : ` for each of ${sequences} sequences`}`;

export const tooLong = (
  context: number,
  sequences: number,
  { device, bytesPerToken, largestRoom, weights }: PartFit,
) =>
  `${showContext({ context, sequences })} takes ${showBytes(context * sequences * bytesPerToken)} of cache beside ${showBytes(weights)} of weights, but ` +
  `'${device.backend}' has ${showBytes(device.freeMemory)} free: the largest context that fits is ${Math.floor(largestRoom / sequences)}`;

export const tooMany = (sequences: number, { device, bytesPerToken, activations, weights }: PartFit) =>
  `sequences is ${sequences}; for one token of each they take ${showBytes(sequences * bytesPerToken)} of cache and ${showBytes(activations)} of ` +
  `activations beside ${showBytes(weights)} of weights, but '${device.backend}' has ${showBytes(device.freeMemory)} free: one sequence would fit`;
