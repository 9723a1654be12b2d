import { as, ints } from '@quern/core/testing';
import type { Dice } from '../values/dice.js';
import type { OpCase } from './expect.js';

interface Lengths {
  readonly rows: number;
  readonly keys: number;
}

function sequences(dice: Dice): Lengths[] {
  return Array.from({ length: dice.pick([0, 1, 1, 2, 3, 5]) }, () => {
    const rows = dice.pick([0, 1, 1, 1, 2, 7, 19, 24]);
    return { rows, keys: rows + dice.pick([0, 0, 1, 6, 30, 70]) };
  });
}

/** Blocks in random order; junk in unused places of the table. */
function blockTable(dice: Dice, lengths: readonly Lengths[], blockSize: number) {
  const needed = lengths.map(({ keys }) => Math.ceil(keys / blockSize));
  const B = Math.max(1, ...needed) + dice.int(0, 1);
  const total = needed.reduce((a, b) => a + b, 1);
  const order = dice.permutation(total);
  const table = needed.flatMap((count) => [
    ...order.splice(0, count),
    ...Array.from({ length: B - count }, () => -1),
  ]);
  return { table: ints(table, [lengths.length, B]), total };
}

function bounds(lengths: readonly number[]): number[] {
  const sums = [0];
  for (const length of lengths) sums.push(sums[sums.length - 1]! + length);
  return sums;
}

const heads = (dice: Dice) =>
  [dice.pick([1, 2, 3]), dice.pick([1, 2, 4]), dice.pick([4, 13, 16, 24, 64, 96, 128])] as const;

const attributes = (dice: Dice, d: number, causal: number) => ({
  scale: dice.pick([1, 1, 4]) / Math.sqrt(d),
  causal,
  window: dice.pick([0, 0, 1, 5, 40]),
  softCap: dice.pick([0, 0, 0, 2.3]),
  bf16: dice.int(0, 1),
});

/** A ragged batch over a scattered cache. */
export function attentionCase(dice: Dice): Omit<OpCase, 'name'> {
  const lengths = sequences(dice);
  const [Hk, group, d] = heads(dice);
  const blockSize = dice.pick([1, 4, 16, 100]);
  const { table, total } = blockTable(dice, lengths, blockSize);
  const format = dice.pick(['f32', 'f16'] as const);
  const cuSeqlens = bounds(lengths.map(({ rows }) => rows));
  const T = cuSeqlens[cuSeqlens.length - 1]!;
  return {
    operands: {
      q: dice.normal([T, Hk * group, d]),
      kCache: as(format, dice.normal([total, blockSize, Hk, d])),
      vCache: as(format, dice.normal([total, blockSize, Hk, d])),
      cuSeqlens: ints(cuSeqlens),
      kvLengths: ints(lengths.map(({ keys }) => keys)),
      blockTable: table,
    },
    attributes: attributes(dice, d, dice.chance(0.8) ? 1 : 0),
  };
}

/** A ragged batch over keys of the same step. */
export function uncachedAttentionCase(dice: Dice): Omit<OpCase, 'name'> {
  const lengths = sequences(dice);
  const [Hk, group, d] = heads(dice);
  const cuSeqlens = bounds(lengths.map(({ rows }) => rows));
  const cuKeys = bounds(lengths.map(({ keys }) => keys));
  const [T, Tk] = [cuSeqlens[lengths.length]!, cuKeys[lengths.length]!];
  return {
    operands: {
      q: dice.normal([T, Hk * group, d]),
      k: dice.normal([Tk, Hk, d]),
      v: dice.normal([Tk, Hk, d]),
      cuSeqlens: ints(cuSeqlens),
      cuKeys: ints(cuKeys),
    },
    attributes: attributes(dice, d, dice.chance(0.3) ? 1 : 0),
  };
}
