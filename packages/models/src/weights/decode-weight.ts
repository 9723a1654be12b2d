import { type Backend, elementCount, type WeightSource, yieldToEventLoop } from '@quern/core';
import {
  byteLength,
  type F8Scales,
  type GgufFormat,
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
import { partsOf, type StoredTensor, type TensorStack } from './weight-file.js';

/**
 * A tensor's values as f32 in memory.
 * @throws ModelError UNKNOWN_FORMAT, ABORTED or WORKER_FAILED; FileError READ_FAILED or TRUNCATED.
 */
export async function decodeToF32(
  tensor: StoredTensor,
  options: DecodeOptions = {},
): Promise<Float32Array<ArrayBuffer>> {
  const values = new Float32Array(elementCount(tensor.shape));
  const bytes = new Uint8Array(values.buffer);
  let at = 0;
  for (const part of partsOf(tensor)) {
    const length = 4 * elementCount(part.shape);
    await decodeInto(bytes.subarray(at, at + length), part, options);
    at += length;
  }
  const plus = 'plus' in tensor ? tensor.plus : undefined;
  return plus === undefined ? values : values.map((value) => value + plus);
}

async function decodeInto(into: Uint8Array, tensor: FileTensor, options: DecodeOptions): Promise<void> {
  if (isGrouped(tensor)) return decodeGrouped(into, tensor, options);
  await decodeAll(piecesOf(tensor, into, await asF32(tensor, options)), options);
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

/**
 * The decoded format for a backend that cannot read the tensor's: iq8 if it is exact and the backend reads iq8, else
 * f32.
 */
export const decodedFormat = ({ quantGguf }: Backend, { format, shape }: StoredTensor): 'f32' | 'iq8' =>
  isIq8Source(format) && shape.length > 1 && quantGguf?.formats.has(iq8.name) ? 'iq8' : 'f32';

/** Bytes of the decoded tensor. */
export function decodedBytes(backend: Backend, tensor: StoredTensor): number {
  const elements = elementCount(tensor.shape);
  return decodedFormat(backend, tensor) === 'iq8' ? iq8Bytes(elements) : 4 * elements;
}

const iq8Bytes = (elements: number): number => (elements / iq8.blockSize) * iq8.blockBytes;

/** The decoded tensor, for a backend that cannot read its format. */
export async function decodedSource(
  backend: Backend,
  tensor: StoredTensor,
  options: DecodeOptions = {},
): Promise<WeightSource> {
  const { name, shape } = tensor;
  const rewritten = decodedFormat(backend, tensor) === 'iq8' && (await rewriteAsIq8(tensor, options));
  if (rewritten) return { name, shape, format: iq8.name, bytes: rewritten };
  const values = await decodeToF32(tensor, options);
  return { name, shape, format: 'f32', bytes: new Uint8Array(values.buffer) };
}

/** The tensor as iq8; undefined: a block has no iq8 form. */
async function rewriteAsIq8(tensor: StoredTensor, options: DecodeOptions): Promise<Uint8Array | undefined> {
  const rewritten = new Uint8Array(iq8Bytes(elementCount(tensor.shape)));
  let at = 0;
  for (const part of partsOf(tensor)) {
    const { format } = part;
    if (!isIq8Source(format)) return undefined;
    const into = rewritten.subarray(at, at + iq8Bytes(elementCount(part.shape)));
    const form: Form = {
      stored: blockBytes(format),
      decoded: iq8Bytes,
      recipe: () => ({ kind: 'iq8', format }),
    };
    if (!(await decodeAll(piecesOf(part, into, form), options))) return undefined;
    at += into.length;
  }
  return rewritten;
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
