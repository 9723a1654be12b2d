import {
  type AnyOp,
  type DType,
  dtypeBytes,
  type EncodedPlan,
  elementCount,
  headerWords,
  kvOf,
  operandWords,
  type PlanDriver,
  type PlanIo,
} from '@quern/core';
import { kvSpecOf } from '../ops/bind.js';
import { type OpCase, specsOf } from '../ops/expect.js';
import { bufferValues, bytesOf, hostValues, type Operand } from '../values/numbers.js';
import { absent, buffer, ioFor, type OperandWords, planOf, record, tensor, weight } from './records.js';

/** A plan of one op on the operands of a case, with its host memory. */
export interface OpPlan {
  readonly plan: EncodedPlan;
  readonly io: PlanIo;
  /** First word of each present operand and output. */
  readonly places: readonly {
    readonly name: string;
    readonly at: number;
    readonly shape: readonly number[];
  }[];
  /** Byte range [from, to) of each output in io.outputs. */
  readonly outputs: readonly (readonly [from: number, to: number])[];
}

/** Bytes before, between and after the tensors of a region. */
const fence = 1 << 14;
const alignment = 64;

class Region {
  bytes = fence;

  place(byteLength: number): number {
    const at = this.bytes;
    this.bytes = Math.ceil((at + byteLength) / alignment) * alignment + fence;
    return at;
  }
}

interface Inputs {
  readonly region: Region;
  readonly filled: { readonly offset: number; readonly bytes: Uint8Array }[];
}

async function bindOperand(
  driver: PlanDriver,
  [name, kind]: readonly [string, string],
  operand: Operand | undefined,
  inputs: Inputs,
): Promise<OperandWords> {
  if (!operand) return absent;
  const { shape, format } = operand;
  if (kind === 'weight') {
    const bytes = bytesOf(hostValues(operand));
    return weight(await driver.loadWeight({ name, shape, format, bytes }), shape);
  }
  if (kind === 'buffer') {
    const kv = kvOf(driver);
    const cache = kv.allocate(kvSpecOf(operand));
    await kv.write(cache, 0, shape[0]!, bytesOf(bufferValues(operand)));
    return buffer(cache, shape, format as DType);
  }
  const bytes = bytesOf(hostValues(operand));
  const offset = inputs.region.place(bytes.length);
  inputs.filled.push({ offset, bytes });
  return tensor('inputs', offset, shape, format as DType);
}

const wordOf = (type: string | undefined, value: number): number =>
  type === 'f32' ? new Int32Array(Float32Array.of(value).buffer)[0]! : value;

interface Output {
  readonly range: readonly [from: number, to: number];
  readonly shape: readonly number[];
  readonly words: OperandWords;
}

const placeOutputs = (region: Region, op: AnyOp, given: OpCase): readonly Output[] =>
  specsOf(op, given).map(({ shape, dtype }) => {
    const byteLength = elementCount(shape) * dtypeBytes[dtype];
    const from = region.place(byteLength);
    return { range: [from, from + byteLength], shape, words: tensor('outputs', from, shape, dtype) };
  });

/** The operands that a plan has: without the last ones if they are absent and joined the op later. */
function encodedNames(op: AnyOp, given: OpCase): readonly string[] {
  const names = Object.keys(op.operands);
  const isLacked = (name: string) => op.operands[name]!.claimed && !given.operands[name];
  while (names.length > 0 && isLacked(names.at(-1)!)) names.pop();
  return names;
}

function placesOf(op: AnyOp, given: OpCase, outputs: readonly Output[]): OpPlan['places'] {
  const first = headerWords + 4 + Object.keys(op.attributes).length;
  const operands = encodedNames(op, given).map((name) => ({ name, shape: given.operands[name]?.shape }));
  const results = outputs.map(({ shape }, i) => ({ name: op.outputs[i]!, shape }));
  return [...operands, ...results].flatMap(({ name, shape }, i) =>
    shape ? [{ name, shape, at: first + i * operandWords }] : [],
  );
}

/** Loads the operands of a case and writes the plan of its op. */
export async function opPlan(driver: PlanDriver, op: AnyOp, given: OpCase): Promise<OpPlan> {
  const inputs: Inputs = { region: new Region(), filled: [] };
  const operands: OperandWords[] = [];
  for (const name of encodedNames(op, given))
    operands.push(await bindOperand(driver, [name, op.operands[name]!.kind], given.operands[name], inputs));
  const region = new Region();
  const outputs = placeOutputs(region, op, given);
  const attributes = Object.entries(op.attributes).map(([name, type]) =>
    wordOf(type, given.attributes[name]!),
  );
  const sizes = { arenaBytes: alignment, inputsBytes: inputs.region.bytes, outputsBytes: region.bytes };
  const all = [...operands, ...outputs.map(({ words }) => words)];
  const io = ioFor(driver, sizes);
  for (const { offset, bytes } of inputs.filled) new Uint8Array(io.inputs).set(bytes, offset);
  return {
    plan: planOf(sizes, [record(op.name, all, attributes)]),
    io,
    places: placesOf(op, given, outputs),
    outputs: outputs.map(({ range }) => range),
  };
}
