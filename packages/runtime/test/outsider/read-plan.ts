import {
  type AnyOp,
  BackendError,
  coreOps,
  type DType,
  dtypes,
  type EncodedPlan,
  fusedOps,
  headerWords,
  opcodes,
  operandWords,
  planMagic,
  planVersion,
} from '@quern/core';

/** One operand or output of an encoded op; `region` says what `id` and `byteOffset` mean. */
export interface EncodedOperand {
  readonly region: number;
  readonly id: number;
  readonly byteOffset: number;
  /** Absent for weights and for operands that are absent themselves. */
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
  return {
    region: words[at]!,
    id: words[at + 1]!,
    byteOffset: (words[at + 2]! >>> 0) + words[at + 3]! * 2 ** 32,
    dtype: dtypes[words[at + 4]!],
    shape: [...words.subarray(at + 6, at + 6 + rank)],
  };
}

/** The op whose record begins at word `at`. */
function readOp(words: Int32Array, at: number): EncodedOp {
  const [opcode, , attributeCount, operandCount] = words.subarray(at, at + 4);
  const op = opsByCode.get(opcode!);
  if (!op) throw new BackendError('DEVICE_FAILED', `the plan has an unknown opcode ${opcode}`);
  const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
  const attributes = Object.entries(op.attributes).map(
    ([name, type], i) => [name, (type === 'f32' ? floats : words)[at + 4 + i]!] as const,
  );
  const first = at + 4 + attributeCount!;
  const operands = Array.from({ length: operandCount! }, (_, i) =>
    readOperand(words, first + i * operandWords),
  );
  return { op, attributes: Object.fromEntries(attributes), operands };
}

/** The ops of a plan, in the order in which they must seem to run. */
export function readPlan({ words }: EncodedPlan): EncodedOp[] {
  const [magic, version, count] = words;
  if (magic !== planMagic || version !== planVersion)
    throw new BackendError('DEVICE_FAILED', `the plan has version ${version}, not ${planVersion}`);
  const ops: EncodedOp[] = [];
  for (let at = headerWords; ops.length < count!; at += words[at + 1]!) ops.push(readOp(words, at));
  return ops;
}
