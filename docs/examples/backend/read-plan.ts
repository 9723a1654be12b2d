import {
  type AnyOp,
  BackendError,
  coreOps,
  type DType,
  dtypes,
  type EncodedPlan,
  fusedOps,
  headerWords,
  maxRank,
  opcodes,
  operandWords,
  planMagic,
  planVersion,
  regions,
} from '@quern/core';

/** One operand or output of an encoded op. The meaning of `id` and `byteOffset` depends on `region`. */
export interface EncodedOperand {
  readonly region: number;
  readonly id: number;
  readonly byteOffset: number;
  /** Undefined for weights and for an unknown dtype code. */
  readonly dtype: DType | undefined;
  readonly shape: readonly number[];
}

export interface EncodedOp {
  readonly op: AnyOp;
  readonly attributes: Readonly<Record<string, number>>;
  /** In the order of the op table: operands, then outputs. */
  readonly operands: readonly EncodedOperand[];
}

const table: Readonly<Record<string, AnyOp>> = { ...coreOps, ...fusedOps };
const opsByCode = new Map([...opcodes].map(([name, code]) => [code, table[name]!]));

function readOperand(words: Int32Array, at: number): EncodedOperand {
  const rank = words[at + 5]!;
  if (!(rank >= 0 && rank <= maxRank)) throw malformed(`an operand has ${rank} dimensions`);
  return {
    region: words[at]!,
    id: words[at + 1]!,
    byteOffset: (words[at + 2]! >>> 0) + words[at + 3]! * 2 ** 32,
    dtype: dtypes[words[at + 4]!],
    shape: [...words.subarray(at + 6, at + 6 + rank)],
  };
}

const absent: EncodedOperand = { region: regions.none, id: 0, byteOffset: 0, dtype: undefined, shape: [] };

export const malformed = (message: string) =>
  new BackendError('BAD_ARGUMENT', `the plan is malformed: ${message}`);

/** The op with its record at word `at`. Throws if it contradicts the op table or exceeds the words. */
function readOp(words: Int32Array, at: number): EncodedOp {
  const [opcode, length, attributeCount, operandCount] = words.subarray(at, at + 4);
  const op = opsByCode.get(opcode!);
  if (!op) throw new BackendError('UNSUPPORTED', `the plan has an unknown opcode ${opcode}`);
  const rules = Object.values(op.operands);
  const counts = [Object.keys(op.attributes).length, rules.length + op.outputs.length];
  const lacked = rules.slice(Math.max(0, operandCount! - op.outputs.length)); // operands that joined the op later
  if (attributeCount !== counts[0] || operandCount! > counts[1]! || !lacked.every(({ claimed }) => claimed))
    throw malformed(
      `${op.name} has ${attributeCount} attributes and ${operandCount} operands; expected ${counts}`,
    );
  if (length !== 4 + attributeCount! + operandCount! * operandWords || at + length > words.length)
    throw malformed(`a record of ${length} words at word ${at} of ${words.length}`);
  const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
  const attributes = Object.entries(op.attributes).map(
    ([name, type], i) => [name, (type === 'f32' ? floats : words)[at + 4 + i]!] as const,
  );
  const first = at + 4 + attributeCount!;
  const operands = Array.from({ length: operandCount! }, (_, i) =>
    readOperand(words, first + i * operandWords),
  );
  operands.splice(rules.length - lacked.length, 0, ...lacked.map(() => absent));
  return { op, attributes: Object.fromEntries(attributes), operands };
}

/** The ops of a plan, in order: results must be those of this order. Throws BAD_ARGUMENT, UNSUPPORTED. */
export function readPlan({ words }: EncodedPlan): EncodedOp[] {
  const [magic, version, count, length] = words;
  if (magic !== planMagic || version !== planVersion)
    throw malformed(`it has version ${version}, not ${planVersion}`);
  if (length !== words.length)
    throw malformed(`its header tells of ${length} words; there are ${words.length}`);
  const ops: EncodedOp[] = [];
  let at = headerWords;
  for (; at < length; at += words[at + 1]!) ops.push(readOp(words, at));
  if (ops.length !== count) throw malformed(`its header tells of ${count} ops; there are ${ops.length}`);
  return ops;
}

/** Sizes in the header, in bytes: arena, inputs, outputs. */
export function regionBytes({ words }: EncodedPlan): readonly [number, number, number] {
  const wide = (at: number) => (words[at]! >>> 0) + words[at + 1]! * 2 ** 32;
  return [wide(4), wide(6), wide(8)];
}
