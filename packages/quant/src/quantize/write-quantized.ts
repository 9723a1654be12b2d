import { checkOptions, rules, type Schema } from '@quern/core';
import { byteLength } from '../format/byte-length.js';
import { type GgufFormat, isGgufFormat, isWritable } from '../format/formats.js';
import { type GgufInput, type TensorInput, writeGguf } from '../gguf/write.js';
import type { EncodedRows, EncodeJob, RowSource } from './encode-job.js';
import { EncodePool } from './encode-pool.js';
import { badArgument, QuantizeError } from './error.js';
import { inOrder } from './in-order.js';
import { checkDistinct } from './same-file.js';
import { TensorErrors, type TensorReport } from './tensor-report.js';

/** Where some of a tensor's rows lie in a file. */
export interface FilePart {
  readonly path: string;
  /** From the start of the file, in bytes. */
  readonly offset: number;
  readonly byteLength: number;
}

/** Rows of f32 that somebody else decodes when their turn comes: one such part is in memory at a time. */
export interface DecodedPart {
  /** The file that they come from, and the bytes that they take there. */
  readonly path: string;
  readonly byteLength: number;
  decode(): Promise<Float32Array>;
}

export type TensorPart = FilePart | DecodedPart;

/** A tensor to write, made of one in files. */
export interface QuantizedTensor {
  readonly name: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  /** f32 where parts are decoded. */
  readonly from: GgufFormat;
  /** What it was in its file, where that is no format of GGUF. */
  readonly stored?: string;
  /** One that Quern writes, or `from`. */
  readonly to: GgufFormat;
  /** Where it becomes q8_0: its blocks share scales, one for 256 columns (see the mix int8). */
  readonly sharesScales?: true;
  /** One after another they are the tensor; each holds equally many whole rows. */
  readonly parts: readonly TensorPart[];
  /**
   * How much each column matters: [rowLength], or [parts of the outermost dimension, rowLength] where a stack of matrices
   * has an importance for each.
   */
  readonly importance?: Float32Array;
  /** Rows per head, where the rows of a head go from Hugging Face's order to that of llama.cpp's Llama. */
  readonly rotary?: number;
}

/** A tensor from files, or one that lies in memory. */
export type OutputTensor = QuantizedTensor | TensorInput;

export interface QuantizeProgress {
  /** Bytes of the source that have been written, of how many. */
  readonly loaded: number;
  readonly total: number;
}

export interface WriteQuantizedOptions {
  /** Threads that encode; as many as the machine runs at once where absent. */
  readonly threads?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: QuantizeProgress) => void) | undefined;
  /** After each tensor whose format has changed: how far its values are from what they were. */
  readonly onTensor?: ((report: TensorReport) => void) | undefined;
}

/** Of each option: what it must be, and its default. */
export const writeQuantizedSchema = {
  threads: {
    ...rules.whole(1, 1024),
    about: 'threads that encode',
    absent: 'as many as the machine runs at once',
  },
  signal: { ...rules.signal, about: 'ends the call, which rejects with ABORTED', absent: 'none' },
  onProgress: {
    ...rules.callback,
    about: 'bytes of the source that have been written, of how many',
    absent: 'none',
  },
  onTensor: {
    ...rules.callback,
    about: 'after each tensor whose format has changed: how far its values are from what they were',
    absent: 'none',
  },
} as const satisfies Schema<WriteQuantizedOptions>;

/** Elements of a job: enough to make its overhead nothing, few enough that an abort and memory are small. */
const jobElements = 2 ** 19;

/**
 * Writes a GGUF file whose tensors are read from other files piece by piece, encoded on threads, and written in order: in
 * memory are two pieces per thread. What fails leaves no file.
 * @throws QuantizeError; FileError of readers and of `writeGguf`.
 */
export async function writeQuantized(
  path: string,
  metadata: GgufInput['metadata'],
  tensors: readonly OutputTensor[],
  options: WriteQuantizedOptions = {},
): Promise<void> {
  checkOptions('writeQuantized', options, writeQuantizedSchema, badArgument);
  const sources = tensors.filter(isFromFiles);
  for (const tensor of sources) checkTensor(tensor);
  await checkDistinct(path, new Set(sources.flatMap(({ parts }) => parts.map((part) => part.path))));
  const pool = new EncodePool(options);
  try {
    const pieces = inOrder(jobsOf(sources), 2 * pool.threads, (job) => pool.run(job));
    const progress = progressOf(sources, options);
    await writeGguf(path, {
      metadata,
      tensors: tensors.map((tensor) =>
        isFromFiles(tensor) ? inputFrom(tensor, pieces, progress, options) : tensor,
      ),
    });
  } finally {
    await pool.dispose();
  }
}

const isFromFiles = (tensor: OutputTensor): tensor is QuantizedTensor => 'parts' in tensor;

/** Its rows go to the new file as they are. */
const isCopied = ({ from, to, rotary, sharesScales }: QuantizedTensor): boolean =>
  from === to && rotary === undefined && !sharesScales;

const isDecoded = (part: TensorPart): part is DecodedPart => 'decode' in part;

const rowLengthOf = ({ shape }: QuantizedTensor): number => shape.at(-1) ?? 1;

const rowsOf = ({ shape }: QuantizedTensor): number => shape.slice(0, -1).reduce((a, b) => a * b, 1);

/** What the jobs rely on. @throws FormatError BAD_LENGTH; QuantizeError BAD_ARGUMENT or BAD_IMPORTANCE. */
function checkTensor(tensor: QuantizedTensor): void {
  const { name, shape, from, to, parts, importance, rotary, sharesScales } = tensor;
  const refuse = (detail: string) => {
    throw new QuantizeError('BAD_ARGUMENT', `tensor '${name}' [${shape}] ${detail}`);
  };
  if (!isGgufFormat(from) || !isGgufFormat(to)) refuse(`cannot go from ${from} to ${to}`);
  if (!isCopied(tensor) && !isWritable(to)) refuse(`cannot become ${to}, which Quern only reads`);
  if (sharesScales && to !== 'q8_0') refuse(`cannot share scales in ${to}`);
  const bytes = byteLength(from, shape);
  byteLength(to, shape);
  const rows = rowsOf(tensor);
  if (parts.length === 0 || rows % parts.length !== 0) refuse(`does not fall into ${parts.length} parts`);
  for (const part of parts)
    if (isDecoded(part) ? from !== 'f32' : part.byteLength !== bytes / parts.length)
      refuse(`of ${from} has a part of ${part.byteLength} bytes; expected ${bytes / parts.length}`);
  if (rotary !== undefined && (rotary % 2 !== 0 || (rows / parts.length) % rotary !== 0))
    refuse(`does not consist of heads of ${rotary} rows`);
  if (importance && !stacksOf(tensor, importance))
    throw new QuantizeError(
      'BAD_IMPORTANCE',
      `tensor '${name}' [${shape}] has an importance of ${importance.length} values; expected ${rowLengthOf(tensor)}` +
        ' (one for each column), or as many for each of its matrices: the importance matrix is of another model',
    );
}

/** Matrices that have an importance of their own: 1, or as many as the outermost of three dimensions; 0 where neither fits. */
function stacksOf({ shape }: QuantizedTensor, importance: Float32Array): number {
  const rowLength = shape.at(-1) ?? 1;
  if (importance.length === rowLength) return 1;
  return shape.length === 3 && importance.length === shape[0]! * rowLength ? shape[0]! : 0;
}

/** The tensors cut into whole rows (and heads) of one part and one importance. */
async function* jobsOf(tensors: readonly QuantizedTensor[]): AsyncGenerator<EncodeJob> {
  for (const tensor of tensors) yield* jobsOfTensor(tensor);
}

async function* jobsOfTensor(tensor: QuantizedTensor): AsyncGenerator<EncodeJob> {
  const { parts, importance, rotary = 1 } = tensor;
  const to = !isCopied(tensor) && isWritable(tensor.to) ? tensor.to : undefined;
  const rowLength = rowLengthOf(tensor);
  const rowsPerPart = rowsOf(tensor) / parts.length;
  const shared = importance && toShared(importance);
  const rowsPerStack = rowsOf(tensor) / (importance ? stacksOf(tensor, importance) : 1);
  const most = Math.max(1, Math.floor(jobElements / (rowLength * rotary))) * rotary;
  for (const [p, part] of parts.entries()) {
    const rowSource = await rowsOfPart(tensor, part);
    for (let row = 0, rows = 0; row < rowsPerPart; row += rows) {
      const at = p * rowsPerPart + row; // of the whole tensor
      const stack = Math.floor(at / rowsPerStack);
      rows = Math.min(most, rowsPerPart - row, (stack + 1) * rowsPerStack - at);
      yield {
        source: rowSource(row, rows),
        ...(to && { to }),
        rows,
        rowLength,
        ...(shared && { importance: shared.subarray(stack * rowLength, (stack + 1) * rowLength) }),
        ...(tensor.rotary !== undefined && { rotary }),
        ...(tensor.sharesScales && { sharesScales: true as const }),
      };
    }
  }
}

/** Where some rows of a part are. @throws QuantizeError BAD_ARGUMENT where a part decodes to another size. */
async function rowsOfPart(
  tensor: QuantizedTensor,
  part: TensorPart,
): Promise<(row: number, rows: number) => RowSource> {
  const rowLength = rowLengthOf(tensor);
  if (!isDecoded(part)) {
    const { path, offset } = part;
    const rowBytes = byteLength(tensor.from, [rowLength]);
    return (row) => ({ path, offset: offset + row * rowBytes, from: tensor.from });
  }
  const values = await part.decode();
  const expected = (rowsOf(tensor) / tensor.parts.length) * rowLength;
  if (values.length !== expected)
    throw new QuantizeError(
      'BAD_ARGUMENT',
      `tensor '${tensor.name}' has a part that decodes to ${values.length} values; expected ${expected}`,
    );
  return (row, rows) => ({
    values: new Float32Array(values.subarray(row * rowLength, (row + rows) * rowLength)),
  });
}

/** Threads see it without a copy. */
function toShared(values: Float32Array): Float32Array {
  const shared = new Float32Array(new SharedArrayBuffer(4 * values.length));
  shared.set(values);
  return shared;
}

const bytesOf = ({ parts }: QuantizedTensor): number => parts.reduce((sum, part) => sum + part.byteLength, 0);

function progressOf(tensors: readonly QuantizedTensor[], { onProgress }: WriteQuantizedOptions) {
  const total = tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0);
  let loaded = 0;
  return (bytes: number) => {
    loaded += bytes;
    onProgress?.({ loaded, total });
  };
}

/** The tensor as writeGguf wants it: its pieces are the next of all pieces, for tensors are written in order. */
function inputFrom(
  tensor: QuantizedTensor,
  pieces: AsyncGenerator<EncodedRows, void, void>,
  progress: (bytes: number) => void,
  { onTensor }: WriteQuantizedOptions,
): TensorInput {
  const { name, shape, from, to, sharesScales } = tensor;
  const wanted = byteLength(to, shape);
  async function* data() {
    const errors = new TensorErrors(tensor);
    for (let written = 0; written < wanted; ) {
      const { value } = await pieces.next();
      if (!value) return; // writeGguf says how much is missing
      errors.add(value.error);
      written += value.bytes.length;
      yield value.bytes;
      progress((bytesOf(tensor) * value.bytes.length) / wanted);
    }
    if (from !== to || sharesScales) onTensor?.(errors.report());
  }
  return { name, shape, format: to, data };
}
