import {
  type DriverBuffer,
  type DriverWeight,
  type EncodedPlan,
  headerWords,
  type KvSpec,
  operandWords,
  type PlanDriver,
  type PlanIo,
} from '@quern/core';
import { absent, buffer, ioFor, planOf, record, tensor, weight } from './records.js';

/** Bytes of each region: more than its tensors need. */
const regionBytes = { arenaBytes: 64, inputsBytes: 64, outputsBytes: 64 };

const batchInvariant = 0;

/** silu(x · wᵀ): x [3, 4] in the inputs, w [2, 4], the product [3, 2] in the arena, the result in the outputs. */
export const productPlan = (w: DriverWeight): EncodedPlan =>
  planOf(
    regionBytes,
    [
      record(
        'linear',
        [tensor('inputs', 0, [3, 4]), weight(w, [2, 4]), absent, tensor('arena', 0, [3, 2])],
        [batchInvariant],
      ),
      record('silu', [tensor('arena', 0, [3, 2]), tensor('outputs', 0, [3, 2])]),
    ],
    [[0, 24, 0, 1]],
  );

/** Each cache of `appendPlan`. */
export const appendedCache: KvSpec = { blocks: 1, blockSize: 2, heads: 1, headDim: 4, dtype: 'f32' };

/** kvAppend of one token of one head [1, 1, 4], twice the same, at slot 0 of caches [1, 2, 1, 4]. */
export const appendPlan = (keys: DriverBuffer, values: DriverBuffer): EncodedPlan =>
  planOf(regionBytes, [
    record('kvAppend', [
      tensor('inputs', 0, [1, 1, 4]),
      tensor('inputs', 0, [1, 1, 4]),
      tensor('inputs', 16, [1], 'i32'),
      buffer(keys, [1, 2, 1, 4]),
      buffer(values, [1, 2, 1, 4]),
    ]),
  ]);

/** Host memory for a hand-written plan: its first `count` inputs are `value`, the next words 0. */
export function ioOf(driver: PlanDriver, value: number, count: number): PlanIo {
  const io = ioFor(driver, regionBytes);
  new Float32Array(io.inputs, 0, count).fill(value);
  return io;
}

/** Index of a word of an operand of an op. */
export function operandAt({ words }: EncodedPlan, op: number, operand: number, word: number): number {
  const at = opAt(words, op);
  const attributes = words[at + 2]!;
  return at + 4 + attributes + operand * operandWords + word;
}

/** Index of an op's record. */
export function opAt(words: Int32Array, op: number): number {
  let at = headerWords;
  for (let i = 0; i < op; i++) at += words[at + 1]!;
  return at;
}
