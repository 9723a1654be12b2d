import {
  type DriverBuffer,
  type DriverWeight,
  type DType,
  dtypeCodes,
  type EncodedPlan,
  headerWords,
  opcodes,
  operandWords,
  type PlanDriver,
  type PlanIo,
  planMagic,
  planVersion,
  regions,
} from '@quern/core';

/** The words of an operand or output. */
export type OperandWords = readonly number[];

const dims = (shape: readonly number[]) => [0, 1, 2, 3].map((i) => shape[i] ?? 0);

export const tensor = (
  region: 'arena' | 'inputs' | 'outputs',
  offset: number,
  shape: readonly number[],
  dtype: DType = 'f32',
): OperandWords => [regions[region], 0, offset, 0, dtypeCodes[dtype], shape.length, ...dims(shape)];

export const weight = ({ id }: DriverWeight, shape: readonly number[]): OperandWords => [
  ...[regions.weight, id, 0, 0, -1],
  ...[shape.length, ...dims(shape)],
];

export const buffer = (
  { id }: DriverBuffer,
  shape: readonly number[],
  dtype: DType = 'f32',
): OperandWords => [...[regions.buffer, id, 0, 0, dtypeCodes[dtype]], ...[shape.length, ...dims(shape)]];

export const absent: OperandWords = new Array<number>(operandWords).fill(0);

/** The record of an op; attributes as their words. */
export const record = (
  name: string,
  operands: readonly OperandWords[],
  attributes: readonly number[] = [],
): readonly number[] => [
  opcodes.get(name)!,
  4 + attributes.length + operands.length * operandWords,
  attributes.length,
  operands.length,
  ...attributes,
  ...operands.flat(),
];

type RegionBytes = Pick<EncodedPlan, 'arenaBytes' | 'inputsBytes' | 'outputsBytes'>;

export function planOf(bytes: RegionBytes, ...records: readonly (readonly number[])[]): EncodedPlan {
  const words = new Int32Array(headerWords + records.flat().length);
  const { arenaBytes, inputsBytes, outputsBytes } = bytes;
  const wide = [arenaBytes, 0, inputsBytes, 0, outputsBytes, 0];
  words.set([planMagic, planVersion, records.length, words.length, ...wide]);
  words.set(records.flat(), headerWords);
  return { words, arenaBytes, inputsBytes, outputsBytes, opCount: records.length };
}

/** Host memory for a plan, as core gives it: the driver's own where it has such. */
export function ioFor({ executor }: PlanDriver, { inputsBytes, outputsBytes }: RegionBytes): PlanIo {
  const memory = (bytes: number) => executor.hostMemory?.(bytes) ?? new ArrayBuffer(bytes);
  const control = new Int32Array(new SharedArrayBuffer(4));
  return { inputs: memory(inputsBytes), outputs: memory(outputsBytes), control };
}
