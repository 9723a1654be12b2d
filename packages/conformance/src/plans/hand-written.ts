import {
  type DriverBuffer,
  type DriverWeight,
  dtypeCodes,
  type EncodedPlan,
  headerWords,
  opcodes,
  operandWords,
  type PlanIo,
  planMagic,
  planVersion,
  regions,
} from '@quern/core';

/** Bytes of each region: more than its tensors take. */
const regionBytes = 64;

const dims = (shape: readonly number[]) => [0, 1, 2, 3].map((i) => shape[i] ?? 0);

const tensor = (
  region: 'arena' | 'inputs' | 'outputs',
  offset: number,
  shape: readonly number[],
  dtype: 'f32' | 'i32' = 'f32',
) => [regions[region], 0, offset, 0, dtypeCodes[dtype], shape.length, ...dims(shape)];

const weight = ({ id }: DriverWeight, shape: readonly number[]) => [
  ...[regions.weight, id, 0, 0, -1],
  ...[shape.length, ...dims(shape)],
];

const buffer = ({ id }: DriverBuffer, shape: readonly number[]) => [
  ...[regions.buffer, id, 0, 0, dtypeCodes.f32],
  ...[shape.length, ...dims(shape)],
];

const absent = new Array<number>(operandWords).fill(0);

/** The record of an op without attributes. */
const record = (name: string, ...operands: readonly (readonly number[])[]) => [
  ...[opcodes.get(name)!, 4 + operands.length * operandWords, 0, operands.length],
  ...operands.flat(),
];

function planOf(...records: readonly (readonly number[])[]): EncodedPlan {
  const words = new Int32Array(headerWords + records.flat().length);
  const wide = [regionBytes, 0];
  words.set([planMagic, planVersion, records.length, words.length, ...wide, ...wide, ...wide]);
  words.set(records.flat(), headerWords);
  const [arenaBytes, inputsBytes, outputsBytes] = [regionBytes, regionBytes, regionBytes];
  return { words, arenaBytes, inputsBytes, outputsBytes, opCount: records.length };
}

/** silu(x · wᵀ): x [3, 4] in the inputs, w [2, 4], the product [3, 2] in the arena, the result in the outputs. */
export const productPlan = (w: DriverWeight): EncodedPlan =>
  planOf(
    record('linear', tensor('inputs', 0, [3, 4]), weight(w, [2, 4]), absent, tensor('arena', 0, [3, 2])),
    record('silu', tensor('arena', 0, [3, 2]), tensor('outputs', 0, [3, 2])),
  );

/** kvAppend of one token of one head [1, 1, 4], twice the same, at slot 0 of caches [1, 2, 1, 4]. */
export const appendPlan = (cache: DriverBuffer): EncodedPlan =>
  planOf(
    record(
      'kvAppend',
      tensor('inputs', 0, [1, 1, 4]),
      tensor('inputs', 0, [1, 1, 4]),
      tensor('inputs', 16, [1], 'i32'),
      buffer(cache, [1, 2, 1, 4]),
      buffer(cache, [1, 2, 1, 4]),
    ),
  );

/** Host memory for a plan made here; all its inputs are `value`, and the words after the first four 0. */
export function ioOf(value: number, count: number): PlanIo {
  const inputs = new ArrayBuffer(regionBytes);
  new Float32Array(inputs, 0, count).fill(value);
  return { inputs, outputs: new ArrayBuffer(regionBytes), control: new Int32Array(1) };
}

/** Where a word of an operand of one of the ops lies; the ops have no attributes. */
export function operandAt({ words }: EncodedPlan, op: number, operand: number, word: number): number {
  return opAt(words, op) + 4 + operand * operandWords + word;
}

/** Where the record of an op begins. */
export function opAt(words: Int32Array, op: number): number {
  let at = headerWords;
  for (let i = 0; i < op; i++) at += words[at + 1]!;
  return at;
}
