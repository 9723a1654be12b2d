import type { AnyOp, Numbers, Sample, TensorSpec } from '@quern/core';
import { mapped } from '@quern/core/testing';
import { compare, exact, isQuantised, toleranceOf } from '../values/compare.js';
import { cachedNumbers, emptyNumbers, type Operands, received, rounding } from '../values/numbers.js';

export interface OpCase extends Sample {
  readonly operands: Operands;
}

/** Results of an op, actual or expected. `buffers`: its buffer operands after the run. */
export interface Outcome {
  readonly outputs: readonly Numbers[];
  readonly buffers: Readonly<Record<string, Numbers>>;
}

export function specsOf(op: AnyOp, { operands, attributes }: OpCase): TensorSpec[] {
  const specs = Object.entries(operands).map(([name, { shape, format }]) => [name, { shape, dtype: format }]);
  return op.infer(Object.fromEntries(specs), attributes);
}

const receivedAll = (operands: Operands) =>
  Object.fromEntries(Object.entries(operands).map(([name, operand]) => [name, received(operand)]));

const round = ({ shape, data }: Numbers, format: string): Numbers => {
  if (format === 'i32') return { shape, data };
  return { shape, dtype: format, data: mapped(data, rounding(format)) };
};

/** Results of the float64 definition, each rounded once to its stored type. */
export function define(op: AnyOp, sample: OpCase): Outcome {
  const operands = receivedAll(sample.operands);
  const specs = specsOf(op, sample);
  const outputs = specs.map(({ shape, dtype }) => emptyNumbers(shape, dtype));
  op.define(operands, sample.attributes, outputs);
  const buffers: Record<string, Numbers> = {};
  for (const [name, rule] of Object.entries(op.operands))
    if (rule.kind === 'buffer') buffers[name] = round(operands[name]!, sample.operands[name]!.format);
  return { outputs: outputs.map((output, i) => round(output, specs[i]!.dtype)), buffers };
}

/** The op's `magnitude` or `rounding` of each element. */
function measure(op: AnyOp, sample: OpCase, by: AnyOp['magnitude']): Numbers[] | undefined {
  if (!by) return undefined;
  const outputs = specsOf(op, sample).map(({ shape }) => emptyNumbers(shape, 'f32'));
  by.call(op, receivedAll(sample.operands), sample.attributes, outputs);
  return outputs;
}

/** The expected outputs; an actual value replaces the expected one if the op's `choices` allow it. */
function chosen(op: AnyOp, sample: OpCase, got: Outcome, want: Outcome): readonly Numbers[] {
  const choices = op.choices?.(receivedAll(sample.operands), sample.attributes);
  if (!choices) return want.outputs;
  const [{ shape, data }, given] = [want.outputs[0]!, got.outputs[0]!.data];
  const right = (value: number, i: number) => (choices[i]!.has(given[i]!) ? given[i]! : value);
  return [{ shape, data: mapped(data, right) }];
}

/** Receives a result's error as a share of the tolerance. */
export type NoteShare = (share: number) => void;

/** Throws if an outcome differs from the expected one by more than the op's tolerance. */
export function checkOutcome(op: AnyOp, sample: OpCase, got: Outcome, want: Outcome, note?: NoteShare): void {
  const { absolute, relative } = toleranceOf(op, sample.operands);
  const terms = measure(op, sample, op.magnitude);
  const roundings =
    'bf16' in sample.attributes || isQuantised(sample.operands)
      ? measure(op, sample, op.rounding)
      : undefined;
  chosen(op, sample, got, want).forEach((output, o) => {
    const magnitude = (i: number, value: number) => terms?.[o]?.data[i] ?? Math.abs(value);
    const rounding = (i: number) => roundings?.[o]?.data[i] ?? 0;
    compare(
      op.outputs[o]!,
      got.outputs[o]!,
      output,
      (i, value) => absolute + relative * magnitude(i, value) + rounding(i),
      note,
    );
  });
  for (const [name, buffer] of Object.entries(want.buffers)) {
    const before = cachedNumbers(received(sample.operands[name]!)).numbers;
    const { numbers, reach } = cachedNumbers(buffer);
    const allowed = (i: number, value: number) =>
      value === before.data[i] ? 0 : absolute + relative * reach[i]!;
    compare(
      name,
      cachedNumbers(got.buffers[name]!).numbers,
      numbers,
      op.operands[name]!.written ? allowed : exact,
      note,
    );
  }
}
