import {
  type DriverBuffer,
  type DriverWeight,
  type DType,
  dtypeCodes,
  type EncodedPlan,
  type HostMemoryUse,
  headerWords,
  opcodes,
  operandWords,
  type PlanDriver,
  type PlanIo,
  planKey,
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

/** The record of an op; attributes as words. */
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

/** Lifetime of a temporary: byte offset, byte length, the op that makes it, the last op that reads it. */
type Lifetime = readonly [offset: number, bytes: number, first: number, last: number];

export function planOf(
  bytes: RegionBytes,
  records: readonly (readonly number[])[],
  lifetimes: readonly Lifetime[] = [],
): EncodedPlan {
  const words = new Int32Array(headerWords + records.flat().length);
  const { arenaBytes, inputsBytes, outputsBytes } = bytes;
  const wide = [arenaBytes, 0, inputsBytes, 0, outputsBytes, 0];
  words.set([planMagic, planVersion, records.length, words.length, ...wide]);
  words.set(records.flat(), headerWords);
  return {
    words,
    arenaBytes,
    inputsBytes,
    outputsBytes,
    opCount: records.length,
    key: planKey(words),
    lifetimes: Float64Array.from(lifetimes.flat()),
    nameOf: (op) => `op ${op}`,
  };
}

/** The same plan with other words. */
export const withWords = (plan: EncodedPlan, words: Int32Array): EncodedPlan => ({
  ...plan,
  words,
  key: planKey(words),
});

/** Host memory for a plan, as from core: the driver's own, if it has any. */
export function ioFor({ executor }: PlanDriver, { inputsBytes, outputsBytes }: RegionBytes): PlanIo {
  const memory = (bytes: number, use: HostMemoryUse) =>
    executor.hostMemory?.(bytes, use) ?? new ArrayBuffer(bytes);
  return {
    inputs: memory(inputsBytes, 'inputs'),
    outputs: memory(outputsBytes, 'outputs'),
    control: new Int32Array(new SharedArrayBuffer(4)),
    fault: new Int32Array(new SharedArrayBuffer(8)),
  };
}
