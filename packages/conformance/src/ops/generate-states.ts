import { ints } from '@quern/core/testing';
import type { Dice } from '../values/dice.js';
import type { OpCase } from './expect.js';

/** A batch of ops with a state: each sequence has slots of its own, or shares only the slot that it reads. */
function stateBatch(dice: Dice) {
  const cuSeqlens = [0];
  const S = dice.pick([0, 1, 2, 5]);
  for (let s = 0; s < S; s++) cuSeqlens.push(cuSeqlens[s]! + dice.pick([0, 1, 1, 2, 9, 40]));
  const states = Array.from({ length: S }, (_, s) => {
    const own = 1 + s;
    return [dice.pick([-1, 0, own, own]), dice.chance(0.9) ? own : -1];
  });
  return {
    T: cuSeqlens[S]!,
    slots: 1 + S,
    batch: { cuSeqlens: ints(cuSeqlens), states: ints(states.flat(), [S, 2]) },
  };
}

export function shortConvCase(dice: Dice): Omit<OpCase, 'name'> {
  const { T, slots, batch } = stateBatch(dice);
  const [D, L] = [dice.pick([1, 7, 16, 33, 129]), dice.pick([2, 3, 4])];
  return {
    operands: {
      x: dice.normal([T, D]),
      weight: dice.normal([D, L]),
      ...(dice.chance(0.3) && { bias: dice.normal([D]) }),
      ...batch,
      state: dice.normal([slots, 1, L - 1, D]),
    },
    attributes: {},
  };
}

export function gatedDeltaCase(dice: Dice): Omit<OpCase, 'name'> {
  const { T, slots, batch } = stateBatch(dice);
  const [Hk, each, dk, dv] = [
    dice.int(1, 3),
    dice.int(1, 3),
    dice.pick([4, 16, 24, 64]),
    dice.pick([4, 16, 40, 64]),
  ];
  const Hv = Hk * each;
  const gates = dice.normal([T, Hv]);
  const from = (f: (x: number) => number) => ({
    ...gates,
    values: Float32Array.from(gates.values as Float32Array, f),
  });
  return {
    operands: {
      q: dice.normal([T, Hk, dk], 1 / Math.sqrt(dk)),
      k: dice.normal([T, Hk, dk], 0.9 / Math.sqrt(dk)),
      v: dice.normal([T, Hv, dv]),
      decay: from((x) => -0.5 * Math.abs(x)),
      beta: from((x) => 1 / (1 + Math.exp(-x))),
      ...batch,
      state: dice.normal([slots, 1, Hv, dk * dv]),
    },
    attributes: { scale: dice.pick([1, 0.25]), tiled: dice.int(0, 1) },
  };
}
