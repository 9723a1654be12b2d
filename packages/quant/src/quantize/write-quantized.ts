import { checkOptions, type ProgressListener, rules, type Schema } from '@quern/core';
import { byteLength } from '../format/byte-length.js';
import { type GgufFormat, isGgufFormat, isWritable } from '../format/formats.js';
import { type GgufInput, type TensorInput, writeGguf } from '../gguf/write.js';
import type { EncodedRows, EncodeJob, RowSource } from './encode-job.js';
import { EncodePool } from './encode-pool.js';
import { badArgument, QuantizeError } from './error.js';
import { inOrder } from './in-order.js';
import { checkDistinct } from './same-file.js';
import { TensorErrors, type TensorReport } from './tensor-report.js';

/** Place of some rows of a tensor in a file. */
export interface FilePart {
  readonly path: string;
  /** Byte offset in the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** Rows of f32, decoded by a callback when needed: one such part is in memory at a time. */
export interface DecodedPart {
  /** Source file of the rows, and their bytes in it. */
  readonly path: string;
  readonly byteLength: number;
  decode(): Promise<Float32Array>;
}

export type TensorPart = FilePart | DecodedPart;

/** A tensor to write, from one or more places in files. */
export interface QuantizedTensor {
  readonly name: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  /** f32 for decoded parts. */
  readonly from: GgufFormat;
  /** Its format in the source file, if that is no GGUF format. */
  readonly stored?: string;
  /** A writable format, or `from`. */
  readonly to: GgufFormat;
  /** For q8_0: the blocks share scales, one per 256 columns (see the mix int8). */
  readonly sharesScales?: true;
  /** Joined in order they are the tensor. Each part has the same number of whole rows. */
  readonly parts: readonly TensorPart[];
  /**
   * Importance of each column: [rowLength]; or [outermost dimension, rowLength] for a stack of matrices, one row per
   * matrix.
   */
  readonly importance?: Float32Array;
  /** Rows per head, to reorder the rows from Hugging Face's order to that of llama.cpp's Llama. */
  readonly rotary?: number;
}

/** A tensor from files or from memory. */
export type OutputTensor = QuantizedTensor | TensorInput;

export interface WriteQuantizedOptions {
  /** Encoding threads. Default: the parallelism of the machine. */
  readonly threads?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after each piece, with the bytes of the source. */
  readonly onProgress?: ProgressListener<'quantize'> | undefined;
  /** Called after each tensor with a changed format, with the error of its values. */
  readonly onTensor?: ((report: TensorReport) => void) | undefined;
}

/** Rule and default of each option. */
export const writeQuantizedSchema = {
  threads: {
    ...rules.whole(1, 1024),
    about: 'encoding threads',
    absent: 'the parallelism of the machine',
  },
  signal: { ...rules.signal, about: 'ends the call, which rejects with ABORTED', absent: 'none' },
  onProgress: {
    ...rules.callback,
    about: "called with { phase: 'quantize', done, total }: bytes of the source",
    absent: 'none',
  },
  onTensor: {
    ...rules.callback,
    about: 'called after each tensor with a changed format, with the error of its values',
    absent: 'none',
  },
} as const satisfies Schema<WriteQuantizedOptions>;

/** Elements per job: enough to hide the overhead of a job, few enough for quick aborts and little memory. */
const jobElements = 2 ** 19;

/**
 * Writes a GGUF file. Tensors are read piece by piece from other files, encoded on threads, and written in order.
 * Memory: two pieces per thread. On an error no file is left.
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

/** Rows are copied unchanged. */
const isCopied = ({ from, to, rotary, sharesScales }: QuantizedTensor): boolean =>
  from === to && rotary === undefined && !sharesScales;

const isDecoded = (part: TensorPart): part is DecodedPart => 'decode' in part;

const rowLengthOf = ({ shape }: QuantizedTensor): number => shape.at(-1) ?? 1;

const rowsOf = ({ shape }: QuantizedTensor): number => shape.slice(0, -1).reduce((a, b) => a * b, 1);

/** Checks the assumptions of the jobs. @throws FormatError BAD_LENGTH; QuantizeError BAD_ARGUMENT or BAD_IMPORTANCE. */
function checkTensor(tensor: QuantizedTensor): void {
  const { name, shape, from, to, parts, importance, rotary, sharesScales } = tensor;
  const refuse = (detail: string) => {
    throw new QuantizeError('BAD_ARGUMENT', `tensor '${name}' [${shape}] ${detail}`);
  };
  if (!isGgufFormat(from) || !isGgufFormat(to)) refuse(`cannot go from ${from} to ${to}`);
  if (!isCopied(tensor) && !isWritable(to)) refuse(`cannot become ${to}: Quern only reads this format`);
  if (sharesScales && to !== 'q8_0') refuse(`cannot share scales in ${to}`);
  const bytes = byteLength(from, shape);
  byteLength(to, shape);
  const rows = rowsOf(tensor);
  if (parts.length === 0 || rows % parts.length !== 0)
    refuse(`cannot be split evenly into ${parts.length} parts`);
  for (const part of parts)
    if (isDecoded(part) ? from !== 'f32' : part.byteLength !== bytes / parts.length)
      refuse(`of ${from} has a part of ${part.byteLength} bytes; expected ${bytes / parts.length}`);
  if (rotary !== undefined && (rotary % 2 !== 0 || (rows / parts.length) % rotary !== 0))
    refuse(`does not consist of heads of ${rotary} rows`);
  if (importance && !stacksOf(tensor, importance))
    throw new QuantizeError(
      'BAD_IMPORTANCE',
      `tensor '${name}' [${shape}] has an importance of ${importance.length} values; expected ${rowLengthOf(tensor)}` +
        ' (one per column), or this number for each of its matrices: the importance matrix belongs to another model',
    );
}

/** Number of matrices with their own importance: 1, or the outermost of three dimensions; 0 if neither fits. */
function stacksOf({ shape }: QuantizedTensor, importance: Float32Array): number {
  const rowLength = shape.at(-1) ?? 1;
  if (importance.length === rowLength) return 1;
  return shape.length === 3 && importance.length === shape[0]! * rowLength ? shape[0]! : 0;
}

/** Cuts the tensors into jobs: whole rows (and heads) of one part and one importance. */
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
      const at = p * rowsPerPart + row; // row in the whole tensor
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

/** Source of some rows of a part. @throws QuantizeError BAD_ARGUMENT if a part decodes to another size. */
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

/** In shared memory, so that threads read it without a copy. */
function toShared(values: Float32Array): Float32Array {
  const shared = new Float32Array(new SharedArrayBuffer(4 * values.length));
  shared.set(values);
  return shared;
}

const bytesOf = ({ parts }: QuantizedTensor): number => parts.reduce((sum, part) => sum + part.byteLength, 0);

function progressOf(tensors: readonly QuantizedTensor[], { onProgress }: WriteQuantizedOptions) {
  const total = tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0);
  let done = 0;
  return (bytes: number) => {
    done += bytes;
    onProgress?.({ phase: 'quantize', done, total });
  };
}

/** The tensor as input of writeGguf. Its pieces are the next of all pieces, because tensors are written in order. */
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
      if (!value) return; // writeGguf reports the missing bytes
      errors.add(value.error);
      written += value.bytes.length;
      yield value.bytes;
      progress((bytesOf(tensor) * value.bytes.length) / wanted);
    }
    if (from !== to || sharesScales) onTensor?.(errors.report());
  }
  return { name, shape, format: to, data };
}
