import { type DType, dtypes } from '../dtype.js';
import { fusedOps } from '../fusions/index.js';
import { coreOps } from '../ops/index.js';
import type { Layout } from './layout.js';
import type { PlanOp, PlanOperand } from './plan.js';

/**
 * A plan as one buffer of 32-bit little-endian words, for drivers that take it whole:
 *
 *   header   magic, version, ops, words, then arena, inputs and outputs bytes (low and high word each), rest 0: 16 words
 *   each op  opcode, words of this record, attributes, operands; the attributes (f32 as its bits, i32); the operands
 *   operand  region, id, byte offset (low, high), dtype, rank, d0, d1, d2, d3: 10 words
 *
 * Operands are those of the op table in its order, then the outputs. `region` says what `id` means: an absent operand,
 * the arena, the inputs, the outputs (id 0 in all four), a buffer or a weight (the driver's own id; offset 0; a
 * weight's dtype word is −1, since the driver chose its layout). Whole tensors start at multiples of 64; slices at any element.
 */
export interface EncodedPlan {
  readonly words: Int32Array;
  readonly arenaBytes: number;
  readonly inputsBytes: number;
  readonly outputsBytes: number;
  readonly opCount: number;
}

export const planMagic = 0x4e4c5051; // 'QPLN'
export const planVersion = 1;
export const headerWords = 16;
export const operandWords = 10;
export const maxRank = 4;
export const maxDimension = 2 ** 31 - 1;

/** Values of an operand's `region` word. */
export const regions = { none: 0, arena: 1, inputs: 2, outputs: 3, buffer: 4, weight: 5 } as const;

/** Values of an operand's `dtype` word. */
export const dtypeCodes = Object.fromEntries(dtypes.map((name, i) => [name, i])) as Record<DType, number>;

/** Fused ops are numbered from here, so that core ops can be added. */
export const firstFusedOpcode = 64;

/** The opcode of every op, by name. */
export const opcodes: ReadonlyMap<string, number> = new Map([
  ...Object.keys(coreOps).map((name, i) => [name, i] as const),
  ...Object.keys(fusedOps).map((name, i) => [name, firstFusedOpcode + i] as const),
]);

const high = (n: number) => Math.floor(n / 2 ** 32);

/** f32 values and i32 values share the words. */
class WordWriter {
  private words = new Int32Array(1024);
  private floats = new Float32Array(this.words.buffer);
  length = 0;

  reserve(count: number): void {
    if (this.length + count <= this.words.length) return;
    const larger = new Int32Array(Math.max(2 * this.words.length, this.length + count));
    larger.set(this.words);
    this.words = larger;
    this.floats = new Float32Array(larger.buffer);
  }

  int(value: number): void {
    this.words[this.length++] = value;
  }

  float(value: number): void {
    this.floats[this.length++] = value;
  }

  wide(value: number): void {
    this.int(value | 0);
    this.int(high(value));
  }

  setInt(at: number, value: number): void {
    this.words[at] = value;
  }

  finish(): Int32Array {
    return this.words.slice(0, this.length);
  }
}

function encodeOperand(out: WordWriter, operand: PlanOperand | undefined, layout: Layout): void {
  const end = out.length + operandWords;
  if (operand?.kind === 'tensor') {
    const place = layout.places.get(operand.storage)!;
    out.int(regions[place.region]);
    out.int(0);
    out.wide(place.byteOffset + operand.byteOffset);
    out.int(dtypeCodes[operand.dtype]);
  } else if (operand) {
    out.int(regions[operand.kind]);
    out.int(operand.handle.id);
    out.wide(0);
    out.int(operand.kind === 'buffer' ? dtypeCodes[operand.dtype] : -1);
  }
  if (operand) {
    out.int(operand.shape.length);
    for (const d of operand.shape) out.int(d);
  }
  while (out.length < end) out.int(0);
}

function encodeOp(out: WordWriter, { op, operands, attributes, outputs }: PlanOp, layout: Layout): void {
  const all = operands.length + outputs.length;
  const words = 4 + attributes.length + all * operandWords;
  out.reserve(words);
  out.int(opcodes.get(op.name)!);
  out.int(words);
  out.int(attributes.length);
  out.int(all);
  Object.values(op.attributes).forEach((type, i) => {
    if (type === 'f32') out.float(attributes[i]!);
    else out.int(attributes[i]!);
  });
  for (const operand of operands) encodeOperand(out, operand, layout);
  for (const output of outputs) encodeOperand(out, output, layout);
}

/** Encodes ops that `layout` has placed. */
export function encodePlan(ops: readonly PlanOp[], layout: Layout): EncodedPlan {
  const out = new WordWriter();
  out.reserve(headerWords);
  for (const word of [planMagic, planVersion, ops.length, 0]) out.int(word);
  for (const bytes of [layout.arenaBytes, layout.inputsBytes, layout.outputsBytes]) out.wide(bytes);
  while (out.length < headerWords) out.int(0);
  for (const op of ops) encodeOp(out, op, layout);
  out.setInt(3, out.length);
  const { arenaBytes, inputsBytes, outputsBytes } = layout;
  return { words: out.finish(), arenaBytes, inputsBytes, outputsBytes, opCount: ops.length };
}
