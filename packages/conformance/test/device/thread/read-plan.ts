import {
  type AnyOp,
  BackendError,
  coreOps,
  type DType,
  dtypeBytes,
  dtypes,
  elementCount,
  fusedOps,
  headerWords,
  maxRank,
  type OperandRule,
  type OperandSpec,
  opcodes,
  operandWords,
  planMagic,
  planVersion,
  regions,
} from '@quern/core';
import { roundedWith, storesBf16 } from '../manifest.js';
import type { DeviceMemory } from './device-memory.js';

export interface Operand {
  readonly region: number;
  readonly id: number;
  readonly byteOffset: number;
  readonly dtype: DType | undefined;
  readonly shape: readonly number[];
}

/** One op of a plan, checked. */
export interface OpRecord {
  readonly op: AnyOp;
  readonly attributes: Readonly<Record<string, number>>;
  /** By the names of the op table; those that are absent are missing. */
  readonly operands: Readonly<Record<string, Operand>>;
  readonly outputs: readonly Output[];
  /** Names of the operands that the op rounds to bf16. */
  readonly rounded: readonly string[];
}

/** Where an output goes. */
export interface Output extends Operand {
  /** It is f32, stored as bf16. */
  readonly narrowed: boolean;
}

/** Bytes of the arena, the inputs and the outputs. */
export type RegionBytes = Readonly<Record<number, number>>;

const table: Readonly<Record<string, AnyOp>> = { ...coreOps, ...fusedOps };
const opsByCode = new Map([...opcodes].map(([name, code]) => [code, table[name]!]));

const malformed = (message: string): never => {
  throw new BackendError('BAD_ARGUMENT', `the plan is malformed: ${message}`);
};

const wide = (words: Int32Array, at: number): number => (words[at]! >>> 0) + words[at + 1]! * 2 ** 32;

function readOperand(words: Int32Array, at: number): Operand {
  const [region, id, , , dtype, rank] = words.subarray(at, at + 6);
  if (!(rank! >= 0 && rank! <= maxRank)) malformed(`an operand of ${rank} dimensions`);
  const shape = [...words.subarray(at + 6, at + 6 + rank!)];
  return { region: region!, id: id!, byteOffset: wide(words, at + 2), dtype: dtypes[dtype!], shape };
}

/** The place of an output, which must be what the op gives. */
function outputOf(op: AnyOp, spec: OperandSpec, place: Operand): Output {
  const { region, dtype, shape } = place;
  if (region !== regions.arena && region !== regions.outputs) malformed(`an output in region ${region}`);
  const narrowed = dtype === 'bf16' && spec.dtype === 'f32' && region === regions.arena && storesBf16(op);
  if (!(narrowed || dtype === spec.dtype) || shape.join() !== spec.shape.join())
    malformed(`${op.name} gives ${spec.dtype} [${spec.shape}], not ${dtype} [${shape}]`);
  return { ...place, narrowed };
}

/** Reads the words of a plan and trusts none of them. */
export class PlanReader {
  readonly regionBytes: RegionBytes;

  constructor(
    private readonly words: Int32Array,
    private readonly memory: DeviceMemory,
  ) {
    const [magic, version, , count] = words;
    if (magic !== planMagic || version !== planVersion || count !== words.length)
      malformed(`magic ${magic}, version ${version}, ${count} words of ${words.length}`);
    this.regionBytes = {
      [regions.arena]: wide(words, 4),
      [regions.inputs]: wide(words, 6),
      [regions.outputs]: wide(words, 8),
    };
  }

  ops(): OpRecord[] {
    const { words } = this;
    const ops: OpRecord[] = [];
    let at = headerWords;
    for (; at < words.length; at += words[at + 1]!) ops.push(this.op(at));
    if (ops.length !== words[2]) malformed(`${words[2]} ops; there are ${ops.length}`);
    return ops;
  }

  private op(at: number): OpRecord {
    const { words } = this;
    const [code, length, attributeCount, operandCount] = words.subarray(at, at + 4);
    const op = opsByCode.get(code!);
    if (!op) throw new BackendError('UNSUPPORTED', `the plan has an unknown opcode ${code}`);
    const types = Object.entries(op.attributes);
    const names = Object.keys(op.operands);
    const places = operandCount!;
    const inputs = places - op.outputs.length;
    const lacked = names.slice(Math.max(0, inputs)); // joined the op later, and are absent
    const mayLack = lacked.every((name) => op.operands[name]!.claimed);
    const fits = attributeCount === types.length && inputs >= 0 && inputs <= names.length && mayLack;
    if (!fits || length !== 4 + types.length + places * operandWords || at + length > words.length)
      malformed(`the record of ${op.name} at word ${at}`);
    const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
    const attributes = Object.fromEntries(
      types.map(([name, type], i) => [name, (type === 'f32' ? floats : words)[at + 4 + i]!] as const),
    );
    const all = Array.from({ length: places }, (_, i) =>
      readOperand(words, at + 4 + types.length + i * operandWords),
    );
    const present = names
      .slice(0, inputs)
      .flatMap((name, i) => (all[i]!.region === regions.none ? [] : [[name, all[i]!] as const]));
    return this.checked(op, attributes, Object.fromEntries(present), all.slice(inputs));
  }

  /** Throws BAD_ARGUMENT for memory outside the operands' own, and for bf16 where the manifest does not claim it. */
  private checked(
    op: AnyOp,
    attributes: OpRecord['attributes'],
    operands: OpRecord['operands'],
    places: readonly Operand[],
  ): OpRecord {
    const rounded = roundedWith(op, this.formatsOf(op, operands));
    const specs: Record<string, OperandSpec> = {};
    for (const [name, rule] of Object.entries(op.operands)) {
      const operand = operands[name];
      if (operand) specs[name] = this.specOf(operand, rule, rounded.includes(name));
      else if (!rule.optional) malformed(`${op.name} lacks ${name}`);
    }
    const outputs = op.infer(specs, attributes).map((spec, i) => outputOf(op, spec, places[i]!));
    for (const output of outputs) this.needApart(output, [...Object.values(operands), ...outputs]);
    return { op, attributes, operands, outputs, rounded };
  }

  /** The formats of the matrices and caches of an op. */
  private formatsOf({ operands: rules }: AnyOp, operands: OpRecord['operands']): string[] {
    return Object.entries(operands).flatMap(([name, { id, shape, dtype }]) => {
      const { kind } = rules[name]!;
      if (kind === 'buffer') return [dtype!];
      return kind === 'weight' && shape.length > 1 ? [this.memory.weight(id).format] : [];
    });
  }

  private specOf(operand: Operand, { kind, dtypes }: OperandRule, rounded: boolean): OperandSpec {
    const { region, id, shape, dtype } = operand;
    if (kind === 'weight') return { shape: this.memory.weightOf(region, id, shape), dtype: 'f32' };
    this.bytesOf(operand);
    const isBuffer = region === regions.buffer;
    if (isBuffer !== (kind === 'buffer')) malformed(`a ${kind} in region ${region}`);
    const isNarrow = kind === 'tensor' && dtype === 'bf16' && rounded && region === regions.arena;
    if (kind === 'tensor' && !isNarrow && !dtypes?.includes(dtype!)) malformed(`a tensor of dtype ${dtype}`);
    return { shape, dtype: isNarrow ? 'f32' : dtype! };
  }

  /** The bytes of a tensor or buffer, which lie within its memory. */
  private bytesOf({ region, id, byteOffset, dtype, shape }: Operand): readonly [number, number] {
    const size = region === regions.buffer ? this.memory.bufferBytes(id) : this.regionBytes[region];
    if (size === undefined) return malformed(`there is no region ${region} with buffer ${id}`);
    if (!dtype || shape.some((d) => d < 0)) return malformed(`[${shape}] of dtype ${dtype} is no tensor`);
    const end = byteOffset + elementCount(shape) * dtypeBytes[dtype];
    if (byteOffset < 0 || byteOffset % dtypeBytes[dtype] !== 0 || end > size)
      return malformed(`bytes ${byteOffset} to ${end} of a region of ${size}`);
    return [byteOffset, end];
  }

  private needApart(output: Operand, all: readonly Operand[]): void {
    const [from, to] = this.bytesOf(output);
    for (const other of all) {
      if (other === output || other.region !== output.region) continue;
      const [start, end] = this.bytesOf(other);
      if (from < end && start < to) malformed('an output lies over another operand');
    }
  }
}
