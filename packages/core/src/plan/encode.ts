import { createHash } from 'node:crypto';
import { collectiveOps } from '../collectives/index.js';
import { type DType, dtypes } from '../dtype.js';
import { fusedOps } from '../fusions/index.js';
import { coreOps } from '../ops/index.js';
import { type Layout, lifetimes, placed } from './layout.js';
import { opName } from './op-name.js';
import type { PlanOp, PlanOperand } from './plan.js';

/**
 * A plan as one buffer of 32-bit little-endian words, for drivers that take it whole:
 *
 *   header   magic, version, ops, words, then arena, inputs and outputs bytes (low and high word each), rest 0: 16 words
 *   each op  opcode, words of this record, attributes, operands; the attributes (f32 as its bits, i32); the operands
 *   operand  region, id, byte offset (low, high), dtype, rank, d0, d1, d2, d3: 10 words
 *
 * Operands are those of the op table in its order, then the outputs. `region` says where an operand lies (`regions`). `id` is the
 * driver's own for a buffer or a weight, whose offset is 0, and 0 otherwise. `dtype` is an index in `dtypes`; −1 for a weight, since
 * the driver chose its layout. Whole tensors start at multiples of 64; slices at any element.
 * A temporary whose readers all round it to bf16 has that dtype (`OpSupport.rounds`).
 *
 * `key`, `lifetimes` and `nameOf` are worked out when they are asked for.
 */
export interface EncodedPlan {
  readonly words: Int32Array;
  readonly arenaBytes: number;
  readonly inputsBytes: number;
  readonly outputsBytes: number;
  readonly opCount: number;
  /**
   * The same for two plans exactly where all their words are: shapes, offsets, ids. What a driver has made of one (bindings, a graph)
   * serves the other, with the other's io; a driver that gives the id of what it freed to something else forgets it then.
   */
  readonly key: string;
  /**
   * Of each temporary, in the order in which ops make them, four numbers: byte offset in the arena, byte length, index of the op that
   * makes it, index of the last op that reads it. With `profile.placing` 'driver' no two offsets share memory.
   */
  readonly lifetimes: Float64Array;
  /** What people call an op, by its index: 'linear blk.3.attn_q.weight', 'attention after blk.3.attn_q.weight'. */
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
  /** An optional operand that is absent: all its words are 0. */
  none: 0,
  /** Temporaries, `arenaBytes` in all, with arbitrary contents at first. Two that are not alive together may share bytes. */
  arena: 1,
  /** `io.inputs`. */
  inputs: 2,
  /** `io.outputs`. */
  outputs: 3,
  /** What `memory.allocate` or `kv.allocate` gave; `id` is the buffer's. */
  buffer: 4,
  /** What `loadWeight` gave; `id` is the weight's. */
  weight: 5,
} as const;

/** Values of an operand's `dtype` word: the index in `dtypes`. */
export const dtypeCodes = Object.fromEntries(dtypes.map((name, i) => [name, i])) as Record<DType, number>;

/** Fused ops are numbered from here, so that core ops can be added. */
export const firstFusedOpcode = 64;

/** Ops of groups, likewise. */
export const firstCollectiveOpcode = 128;

/** The opcode of every op, by name. */
export const opcodes: ReadonlyMap<string, number> = new Map([
  ...Object.keys(coreOps).map((name, i) => [name, i] as const),
  ...Object.keys(fusedOps).map((name, i) => [name, firstFusedOpcode + i] as const),
  ...Object.keys(collectiveOps).map((name, i) => [name, firstCollectiveOpcode + i] as const),
]);

const high = (n: number) => Math.floor(n / 2 ** 32);

/** One buffer seen as integers and as floats. Words that nobody writes stay 0. */
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

const opWords = ({ operands, attributes, outputs }: PlanOp): number =>
  4 + attributes.length + (operands.length + outputs.length) * operandWords;

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

/** Writes one record and returns where the next begins. */
function encodeOp(words: Words, at: number, op: PlanOp, layout: Layout): number {
  const { operands, attributes, outputs } = op;
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
