import { type AnyOp, type CoreOpName, coreOps, type Numbers, type SampleOperand } from '@quern/core';
import { mapped } from '@quern/core/testing';
import { specsOf } from '../ops/expect.js';
import { Dice } from '../values/dice.js';
import { emptyNumbers, type Operand, received } from '../values/numbers.js';

/** One value of a program: an input, rows or another shape of an earlier value, or an op on earlier values. */
export type Instruction =
  | { readonly kind: 'input'; readonly operand: Operand }
  | { readonly kind: 'slice'; readonly of: number; readonly from: number; readonly to: number }
  | { readonly kind: 'view'; readonly of: number; readonly shape: readonly number[] }
  | {
      readonly kind: 'op';
      readonly op: AnyOp;
      readonly values: Readonly<Record<string, number>>;
      readonly weights: Readonly<Record<string, Operand>>;
      readonly attributes: Readonly<Record<string, number>>;
    };

/** A random plan of many ops, with every value by the definitions. */
export interface Program {
  readonly instructions: readonly Instruction[];
  readonly values: readonly Numbers[];
}

const asOperand = ({ shape, data }: Numbers): SampleOperand => ({
  shape,
  format: data instanceof Int32Array ? 'i32' : 'f32',
  values: data,
});

/**
 * Grows a program value by value. Values stay near magnitude 1, so that a wrong value remains visible in later values.
 */
class Writer {
  readonly instructions: Instruction[] = [];
  readonly values: Numbers[] = [];

  constructor(readonly dice: Dice) {}

  add(instruction: Instruction, value: Numbers): number {
    this.values.push(value);
    return this.instructions.push(instruction) - 1;
  }

  input(operand: SampleOperand): number {
    return this.add({ kind: 'input', operand }, received(operand));
  }

  op(
    name: CoreOpName,
    values: Readonly<Record<string, number>>,
    weights: Readonly<Record<string, Operand>> = {},
    attributes: Readonly<Record<string, number>> = {},
  ): number {
    const op: AnyOp = coreOps[name];
    const known = Object.entries(values).map(([key, at]) => [key, this.values[at]!] as const);
    const operands = Object.fromEntries(known.map(([key, value]) => [key, asOperand(value)]));
    const [spec] = specsOf(op, { name, operands: { ...operands, ...weights }, attributes });
    const output = emptyNumbers(spec!.shape, spec!.dtype);
    const loaded = Object.entries(weights).map(([key, weight]) => [key, received(weight)] as const);
    op.define(Object.fromEntries([...known, ...loaded]), attributes, [output]);
    const rounded = { shape: output.shape, data: mapped(output.data, Math.fround) };
    return this.add({ kind: 'op', op, values, weights, attributes }, rounded);
  }

  slice(of: number, from: number, to: number): number {
    const { shape, data } = this.values[of]!;
    const row = shape[1]!;
    return this.add(
      { kind: 'slice', of, from, to },
      { shape: [to - from, row], data: data.slice(from * row, to * row) },
    );
  }

  view(of: number, shape: readonly number[]): number {
    return this.add({ kind: 'view', of, shape }, { shape, data: this.values[of]!.data });
  }

  norm(x: number): number {
    const w = this.dice.normal(this.values[x]!.shape.slice(-1));
    return this.op('rmsNorm', { x }, { w }, { eps: 1e-5 });
  }

  linear(x: number): number {
    const K = this.values[x]!.shape[1]!;
    const w = this.dice.normal([this.dice.pick([5, 16, 33, 70]), K], 1 / Math.sqrt(K));
    return this.op('linear', { x }, { w });
  }
}

/** Adds one random step after value `x`; `mate` has its shape. */
function grow(writer: Writer, x: number, mate: number): number {
  const { dice } = writer;
  const [T, D] = writer.values[x]!.shape as [number, number];
  const step = dice.int(0, 9);
  if (step <= 2) return writer.linear(x);
  if (step === 3) return writer.norm(x);
  if (step === 4) return writer.op('scale', { x: writer.op('add', { a: x, b: mate }) }, {}, { factor: 0.5 });
  if (step === 5) return writer.op('mul', { a: x, b: writer.op('softmax', { x: mate }) });
  if (step === 6) return writer.norm(writer.op('add', { a: x, b: mate }));
  if (step === 7) return writer.norm(writer.op('swiglu', { gate: x, up: mate }));
  if (step === 8) {
    const rows = writer.input(dice.integers([dice.int(2, 6)], T));
    return writer.op('gatherRows', { x, rows });
  }
  return D % 2 === 0 ? writer.view(x, [2 * T, D / 2]) : writer.slice(x, T > 2 ? 1 : 0, T);
}

/** A random program of about `length` values over [T, D] matrices. */
export function writeProgram(seed: number, length: number): Program {
  const dice = new Dice(seed);
  const writer = new Writer(dice);
  writer.input(dice.normal([dice.int(3, 7), 33]));
  while (writer.values.length < length) {
    const recent = Math.max(0, writer.values.length - 12);
    const x = dice.int(recent, writer.values.length - 1);
    const { shape, data } = writer.values[x]!;
    if (data instanceof Int32Array) continue;
    const mates = writer.values.flatMap((v, i) => (v.shape.join() === shape.join() ? [i] : []));
    grow(writer, x, dice.pick(mates));
  }
  return writer;
}
