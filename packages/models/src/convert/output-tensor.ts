import {
  interleaveHeads,
  isGgufFormat,
  isMixed,
  type OutputTensor,
  type TensorInput,
  type TensorPart,
} from '@quern/quant';
import { decodeToF32 } from '../weights/decode-weight.js';
import type { FileTensor } from '../weights/file-tensor.js';
import { takeRows } from '../weights/map-tensors.js';
import { partsOf, type StoredTensor } from '../weights/weight-file.js';

export interface OutputOptions {
  /** Rows per head, if the rows change from Hugging Face's order to the order of llama.cpp's Llama. */
  readonly rotary?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A tensor of a model as a GGUF file holds it under `name`. Matrices keep their format until a mix is chosen, and are
 * read at writing. Formats that GGUF lacks (GPTQ, AWQ, 8-bit floats) and transposed matrices are decoded, one matrix at a time. Vectors become
 * f32.
 * @throws ModelError UNKNOWN_FORMAT or ABORTED; FileError READ_FAILED or TRUNCATED.
 */
export async function outputTensor(
  name: string,
  tensor: StoredTensor,
  { rotary, signal }: OutputOptions = {},
): Promise<OutputTensor> {
  const { shape, format } = tensor;
  if (shape.length === 1) {
    const values = await decodeToF32(tensor, { signal });
    return inMemory(name, shape, rotary === undefined ? values : interleaveHeads(values, 1, rotary));
  }
  const parts = evenParts(partsOf(tensor));
  const kept =
    isGgufFormat(format) && !parts.some(({ quantised, transposed }) => quantised || transposed)
      ? format
      : undefined;
  const from = kept ?? 'f32';
  return {
    name,
    shape,
    from,
    to: isMixed({ name, shape }) ? from : 'f32',
    parts: kept ? parts.map(({ bytes }) => bytes) : parts.map((part) => decodedPart(part, signal)),
    ...(!kept && { stored: format }),
    ...(rotary !== undefined && { rotary }),
  };
}

/** The same rows in parts of one size, as the writer needs them. */
function evenParts(parts: readonly FileTensor[]): readonly FileTensor[] {
  const rowsOf = ({ shape }: FileTensor) => shape[0]!;
  const size = parts.map(rowsOf).reduce(greatestDivisor);
  return parts.flatMap((part) =>
    rowsOf(part) === size
      ? [part]
      : Array.from({ length: rowsOf(part) / size }, (_, i) => takeRows(part, i * size, size)),
  );
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

const decodedPart = (part: FileTensor, signal: AbortSignal | undefined): TensorPart => ({
  path: part.bytes.path,
  byteLength: part.bytes.byteLength,
  decode: () => decodeToF32(part, { signal }),
});

/** An f32 tensor in memory. */
export const inMemory = (name: string, shape: readonly number[], values: Float32Array): TensorInput => ({
  name,
  shape,
  format: 'f32',
  data: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
});
