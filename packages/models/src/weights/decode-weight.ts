import { type Backend, elementCount, type WeightSource, yieldToEventLoop } from '@quern/core';
import {
  byteLength,
  type F8Scales,
  f8Blocks,
  type GgufFormat,
  hasF8Blocks,
  iq8,
  isF8Format,
  isGgufFormat,
  isIq8Source,
  type Recipe,
} from '@quern/quant';
import { ModelError } from '../error.js';
import {
  type DecodeOptions,
  decodeAll,
  decodeOn,
  type Piece,
  pieceElements,
  throwIfAborted,
} from './decode-pieces.js';
import type { FileTensor } from './file-tensor.js';
import { type GroupedTensor, gptqPieces, gptqRows, isGrouped, rowsTogether, wholeOf } from './gptq.js';
import { takeRows } from './map-tensors.js';
import { isConstant, partsOf, type StoredTensor, type TensorStack } from './weight-file.js';

/**
 * A tensor's values as f32 in memory.
 * @throws ModelError UNKNOWN_FORMAT, ABORTED or WORKER_FAILED; FileError READ_FAILED or TRUNCATED.
 */
export async function decodeToF32(
  tensor: StoredTensor,
  options: DecodeOptions = {},
): Promise<Float32Array<ArrayBuffer>> {
  const values = new Float32Array(elementCount(tensor.shape));
  if (isConstant(tensor)) {
    const { constant } = tensor;
    return values.map((_, i) => constant(i));
  }
  const bytes = new Uint8Array(values.buffer);
  let at = 0;
  for (const part of partsOf(tensor)) {
    const length = 4 * elementCount(part.shape);
    await decodeInto(bytes.subarray(at, at + length), part, options);
    at += length;
  }
  const plus = 'plus' in tensor ? tensor.plus : undefined;
  if (plus !== undefined) return values.map((value) => value + plus);
  return 'isLog' in tensor ? values.map((value) => -Math.exp(value)) : values;
}

async function decodeInto(into: Uint8Array, tensor: FileTensor, options: DecodeOptions): Promise<void> {
  if (isGrouped(tensor)) return decodeGrouped(into, tensor, options);
  if (tensor.transposed) return decodeTransposed(into, tensor, options);
  await decodeAll(piecesOf(tensor, into, await asF32(tensor, options)), options);
}

/** Stored columns [K, of] → rows [N, K]. Decodes some stored rows at a time, on a thread if there are threads. */
async function decodeTransposed(
  into: Uint8Array,
  { transposed, shape, plus: _afterwards, ...stored }: FileTensor,
  options: DecodeOptions,
): Promise<void> {
  const [N, K] = shape as readonly [number, number];
  const { from, of } = transposed!;
  const values = new Float32Array(into.buffer, into.byteOffset, N * K);
  const together = Math.max(1, Math.floor(pieceElements / of));
  for (let first = 0; first < K; first += together) {
    const count = Math.min(together, K - first);
    const rows = await decodeToF32(takeRows({ ...stored, shape: [K, of] }, first, count), options); // [count, of]
    for (let n = 0; n < N; n++)
      for (let k = 0; k < count; k++) values[n * K + first + k] = rows[k * of + from + n]!;
  }
}

/** How to read and write the elements of a tensor stored in element order. */
interface Form {
  /** Bytes of `elements` elements in the file. */
  stored(elements: number): number;
  /** Bytes of `elements` elements, decoded. */
  decoded(elements: number): number;
  /** The decoder of elements from `first` on. */
  recipe(first: number): Recipe;
}

function piecesOf(
  { shape, bytes: { path, offset } }: FileTensor,
  into: Uint8Array,
  { stored, decoded, recipe }: Form,
): Piece[] {
  const total = elementCount(shape);
  return Array.from({ length: Math.ceil(total / pieceElements) }, (_, i) => {
    const first = i * pieceElements;
    const count = Math.min(pieceElements, total - first);
    const source = { path, offset: offset + stored(first), byteLength: stored(count) };
    const byteLength = decoded(count);
    const at = decoded(first);
    return {
      job: { recipe: recipe(first), source, byteLength },
      into: into.subarray(at, at + byteLength),
    };
  });
}

const blockBytes = (format: GgufFormat) => (elements: number) =>
  elements === 0 ? 0 : byteLength(format, [elements]);

async function asF32(tensor: FileTensor, options: DecodeOptions): Promise<Form> {
  const { format, name, bytes } = tensor;
  const decoded = (elements: number) => 4 * elements;
  if (isF8Format(format)) {
    const scales = await f8Scales(tensor, options);
    const before = firstRowOf(tensor) * scales.columns;
    return {
      stored: (elements) => elements,
      decoded,
      recipe: (first) => ({ kind: 'f8', format, scales, first: before + first }),
    };
  }
  if (!isGgufFormat(format))
    throw new ModelError('UNKNOWN_FORMAT', `${bytes.path}: tensor '${name}' is ${format}`);
  return { stored: blockBytes(format), decoded, recipe: () => ({ kind: 'f32', format }) };
}

const firstRowOf = ({ quantised }: FileTensor): number =>
  quantised?.kind === 'f8' ? (quantised.firstRow ?? 0) : 0;

async function f8Scales({ shape, quantised }: FileTensor, options: DecodeOptions): Promise<F8Scales> {
  const columns = shape.at(-1) ?? 1;
  if (quantised?.kind !== 'f8' || !quantised.scale)
    return { values: Float32Array.of(1), columns, blockRows: Infinity, blockColumns: columns };
  const { scale, blockRows, blockColumns } = quantised;
  const values = new Float32Array(new SharedArrayBuffer(4 * elementCount(scale.shape))); // shared by all jobs
  values.set(await decodeToF32(scale, options));
  return { values, columns, blockRows, blockColumns };
}

/** Quern's own formats, which hold the same values as some formats of files. */
const ownFormats = { iq8, f8: f8Blocks } as const;
type OwnFormat = keyof typeof ownFormats;

function ownFormatOf({ shape, format, quantised }: FileTensor): OwnFormat | undefined {
  if (isIq8Source(format)) return 'iq8';
  const columns = shape.at(-1) ?? 1;
  const blockColumns = quantised?.kind === 'f8' ? quantised.blockColumns : columns;
  return format === 'f8_e4m3' && hasF8Blocks(columns, blockColumns) ? 'f8' : undefined;
}

/**
 * The decoded format for a backend that cannot read the tensor's: iq8 or f8 if it is exact and the backend reads it, else
 * f32.
 */
export function decodedFormat({ quantGguf }: Backend, tensor: StoredTensor): 'f32' | OwnFormat {
  const [own, ...others] = new Set(partsOf(tensor).map(ownFormatOf));
  if (!own || others.length > 0 || tensor.shape.length === 1) return 'f32';
  return quantGguf?.formats.has(own) ? own : 'f32';
}

/** Bytes of the decoded tensor. */
export function decodedBytes(backend: Backend, tensor: StoredTensor): number {
  const elements = elementCount(tensor.shape);
  const format = decodedFormat(backend, tensor);
  return format === 'f32' ? 4 * elements : ownBytes(format)(elements);
}

const ownBytes = (own: OwnFormat) => {
  const { blockSize, blockBytes } = ownFormats[own];
  return (elements: number): number => (elements / blockSize) * blockBytes;
};

/** The decoded tensor, for a backend that cannot read its format. */
export async function decodedSource(
  backend: Backend,
  tensor: StoredTensor,
  options: DecodeOptions = {},
): Promise<WeightSource> {
  const { name, shape } = tensor;
  const own = decodedFormat(backend, tensor);
  const rewritten = own !== 'f32' && (await rewriteAs(own, tensor, options));
  if (rewritten) return { name, shape, format: own, bytes: rewritten };
  const values = await decodeToF32(tensor, options);
  return { name, shape, format: 'f32', bytes: new Uint8Array(values.buffer) };
}

/** The tensor in one of Quern's formats; undefined: a block has no such form. */
async function rewriteAs(
  own: OwnFormat,
  tensor: StoredTensor,
  options: DecodeOptions,
): Promise<Uint8Array | undefined> {
  const bytes = ownBytes(own);
  const rewritten = new Uint8Array(bytes(elementCount(tensor.shape)));
  let at = 0;
  for (const part of partsOf(tensor)) {
    const into = rewritten.subarray(at, at + bytes(elementCount(part.shape)));
    if (!(await decodeAll(piecesOf(part, into, await asOwn(own, part, options)), options))) return undefined;
    at += into.length;
  }
  return rewritten;
}

async function asOwn(own: OwnFormat, tensor: FileTensor, options: DecodeOptions): Promise<Form> {
  const { format } = tensor;
  const decoded = ownBytes(own);
  if (isIq8Source(format))
    return { stored: blockBytes(format), decoded, recipe: () => ({ kind: 'iq8', format }) };
  const scales = await f8Scales(tensor, options);
  const before = firstRowOf(tensor) * scales.columns;
  return {
    stored: (elements) => elements,
    decoded,
    recipe: (first) => ({ kind: 'f8Blocks', scales, first: before + first }),
  };
}

/** A stack whose matrices are separate tensors. */
export const stackSource = ({ name, shape, format, parts }: TensorStack): WeightSource => ({
  name,
  shape,
  format,
  bytes: parts.map(({ bytes, shape: [rows] }) => ({ bytes, rows: rows! })),
});

async function decodeGrouped(
  into: Uint8Array,
  tensor: GroupedTensor,
  { pool, signal }: DecodeOptions,
): Promise<void> {
  if (pool) {
    await decodeOn(pool, await gptqPieces(tensor, into));
    return;
  }
  const [N, K] = tensor.shape as readonly [number, number];
  const values = new Float32Array(into.buffer, into.byteOffset, N * K);
  const rows = await gptqRows(tensor, signal);
  const { from } = wholeOf(tensor);
  const together = rowsTogether(K);
  for (let n = 0; n < N; n += together) {
    throwIfAborted(signal);
    rows.decode(from + n, Math.min(together, N - n), values, n * K);
    await yieldToEventLoop();
  }
}
