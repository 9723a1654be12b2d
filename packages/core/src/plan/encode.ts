import { createHash } from 'node:crypto';
import { collectiveOps } from '../collectives/index.js';
import { type DType, dtypes } from '../dtype.js';
import { fusedOps } from '../fusions/index.js';
import { coreOps } from '../ops/index.js';
import { type Layout, lifetimes, placed } from './layout.js';
import { opName } from './op-name.js';
import type { PlanOp, PlanOperand } from './plan.js';

/**
 * A plan as one buffer of 32-bit little-endian words, for drivers that take whole plans:
 *
 *   header   magic, version, ops, words, then arena, inputs and outputs bytes (low and high word each), rest 0: 16 words
 *   each op  opcode, words of this record, attributes, operands; the attributes (f32 as its bits, i32); the operands
 *   operand  region, id, byte offset (low, high), dtype, rank, d0, d1, d2, d3: 10 words
 *
 * Operands in op-table order, then the outputs. `region`: place of an operand (see `regions`). `id`: the driver's own id
 * of a buffer or weight, with offset 0; otherwise 0. `dtype`: an index into `dtypes`; −1 for a weight, because the driver
 * chose its layout. Whole tensors start at multiples of 64; slices at any element.
 * A temporary has dtype bf16 if all its readers round it to bf16 (`OpSupport.rounds`).
 *
 * `key`, `lifetimes` and `nameOf` are computed on demand.
 */
export interface EncodedPlan {
  readonly words: Int32Array;
  readonly arenaBytes: number;
  readonly inputsBytes: number;
  readonly outputsBytes: number;
  readonly opCount: number;
  /**
   * Two plans have the same key exactly if all their words are equal: shapes, offsets, ids. A driver may reuse work on
   * one plan (bindings, a graph) for the other, with the other's io. A driver that gives a freed id to something else
   * must drop that work.
   */
  readonly key: string;
  /**
   * Four numbers per temporary, in the order of the ops that make them: byte offset in the arena, byte length, index of
   * the op that makes it, index of the last op that reads it. With `profile.placing` 'driver' no two temporaries share
   * memory.
   */
  readonly lifetimes: Float64Array;
  /** Readable name of an op, by its index: 'linear blk.3.attn_q.weight', 'attention after blk.3.attn_q.weight'. */
  nameOf(op: number): string;
}

/** `EncodedPlan.key` of these words. */
export const planKey = (words: Int32Array): string =>
  createHash('sha256')
    .update(new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
    .digest('base64');

/** The bytes 'QPLN'. */
export const planMagic = 0x4e4c5051;
export const planVersion = 1;
export const headerWords = 16;
export const operandWords = 10;
export const maxRank = 4;
export const maxDimension = 2 ** 31 - 1;

/** Values of an operand's `region` word. */
export const regions = {
  /** An absent optional operand: all its words are 0. An op has no words of its last operands if they are absent and `claimed`. */
  none: 0,
  /** Temporaries, `arenaBytes` in total, with arbitrary initial bytes. Temporaries with disjoint lifetimes may share bytes. */
  arena: 1,
  /** `io.inputs`. */
  inputs: 2,
  /** `io.outputs`. */
  outputs: 3,
  /** A buffer of `memory.allocate` or `kv.allocate`, by its `id`. */
  buffer: 4,
  /** A weight of `loadWeight`, by its `id`. */
  weight: 5,
} as const;

/** Values of an operand's `dtype` word: the index in `dtypes`. */
export const dtypeCodes = Object.fromEntries(dtypes.map((name, i) => [name, i])) as Record<DType, number>;

/** First opcode of fused ops. The gap leaves room for new core ops. */
export const firstFusedOpcode = 64;

/** First opcode of collective ops. */
export const firstCollectiveOpcode = 128;

/** The opcode of every op, by name. */
export const opcodes: ReadonlyMap<string, number> = new Map([
  ...Object.keys(coreOps).map((name, i) => [name, i] as const),
  ...Object.keys(fusedOps).map((name, i) => [name, firstFusedOpcode + i] as const),
  ...Object.keys(collectiveOps).map((name, i) => [name, firstCollectiveOpcode + i] as const),
]);

const high = (n: number) => Math.floor(n / 2 ** 32);

/** One buffer seen as integers and as floats. Unwritten words stay 0. */
class Words {
  readonly ints: Int32Array;
  readonly floats: Float32Array;

  constructor(readonly length: number) {
    this.ints = new Int32Array(length);
    this.floats = new Float32Array(this.ints.buffer);
  }

  /** Low word, then high word. */
  setWide(at: number, value: number): void {
    this.ints[at] = value | 0;
    this.ints[at + 1] = high(value);
  }
}

/** The operands that a plan has: without the last ones if they are absent and joined the op later. */
function encodedOperands({ op, operands }: PlanOp): PlanOp['operands'] {
  const rules = Object.values(op.operands);
  let count = operands.length;
  while (count > 0 && rules[count - 1]!.claimed && !operands[count - 1]) count--;
  return operands.slice(0, count);
}

const opWords = (op: PlanOp): number =>
  4 + op.attributes.length + (encodedOperands(op).length + op.outputs.length) * operandWords;

function encodeOperand(words: Words, at: number, operand: PlanOperand, layout: Layout): void {
  const { ints } = words;
  const { shape } = operand;
  if (operand.kind === 'tensor') {
    const { region, byteOffset, dtype } = placed(operand, layout);
    ints[at] = regions[region];
    words.setWide(at + 2, byteOffset);
    ints[at + 4] = dtypeCodes[dtype];
  } else {
    ints[at] = regions[operand.kind];
    ints[at + 1] = operand.handle.id;
    ints[at + 4] = operand.kind === 'buffer' ? dtypeCodes[operand.dtype] : -1;
  }
  ints[at + 5] = shape.length;
  for (let i = 0; i < shape.length; i++) ints[at + 6 + i] = shape[i]!;
}

function encodeAttributes(words: Words, at: number, { op, attributes }: PlanOp): void {
  const types = Object.values(op.attributes);
  for (let i = 0; i < types.length; i++)
    if (types[i] === 'f32') words.floats[at + i] = attributes[i]!;
    else words.ints[at + i] = attributes[i]!;
}

/** Writes one record and returns the index after it. */
function encodeOp(words: Words, at: number, op: PlanOp, layout: Layout): number {
  const { attributes, outputs } = op;
  const operands = encodedOperands(op);
  words.ints[at] = opcodes.get(op.op.name)!;
  words.ints[at + 1] = opWords(op);
  words.ints[at + 2] = attributes.length;
  words.ints[at + 3] = operands.length + outputs.length;
  encodeAttributes(words, at + 4, op);
  let next = at + 4 + attributes.length;
  for (const operand of operands) {
    if (operand) encodeOperand(words, next, operand, layout);
    next += operandWords;
  }
  for (const output of outputs) {
    encodeOperand(words, next, output, layout);
    next += operandWords;
  }
  return next;
}

/** Encodes ops that `layout` has placed. */
export function encodePlan(ops: readonly PlanOp[], layout: Layout): EncodedPlan {
  const { arenaBytes, inputsBytes, outputsBytes } = layout;
  const words = new Words(ops.reduce((sum, op) => sum + opWords(op), headerWords));
  words.ints.set([planMagic, planVersion, ops.length, words.length]);
  [arenaBytes, inputsBytes, outputsBytes].forEach((bytes, i) => words.setWide(4 + 2 * i, bytes));
  let at = headerWords;
  for (const op of ops) at = encodeOp(words, at, op, layout);
  return new Encoded(words.ints, ops, layout);
}

class Encoded implements EncodedPlan {
  readonly arenaBytes: number;
  readonly inputsBytes: number;
  readonly outputsBytes: number;

  constructor(
    readonly words: Int32Array,
    private readonly ops: readonly PlanOp[],
    private readonly layout: Layout,
  ) {
    this.arenaBytes = layout.arenaBytes;
    this.inputsBytes = layout.inputsBytes;
    this.outputsBytes = layout.outputsBytes;
  }

  get opCount(): number {
    return this.ops.length;
  }

  get key(): string {
    return planKey(this.words);
  }

  get lifetimes(): Float64Array {
    return lifetimes(this.ops, this.layout);
  }

  nameOf(op: number): string {
    return opName(this.ops, op);
  }
}
