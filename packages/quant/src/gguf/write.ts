import { FileError } from '../error.js';
import { byteLength } from '../format/byte-length.js';
import { formats, type GgufFormat } from '../format/formats.js';
import { OutputFile } from '../output-file.js';
import { ByteWriter } from './byte-writer.js';
import { quote } from './read-metadata.js';
import { type MetadataInput, writeMetadataEntry } from './write-metadata.js';

const version = 3;
const defaultAlignment = 32;

/** The bytes of a tensor: whole, in pieces, or made when the tensor is written. */
export type TensorData = Uint8Array | AsyncIterable<Uint8Array>;

export interface TensorInput {
  readonly name: string;
  /** Row-major, outermost first. */
  readonly shape: readonly number[];
  readonly format: GgufFormat;
  /** `byteLength(format, shape)` bytes in total. A function is called when the tensor is written. */
  readonly data: TensorData | (() => TensorData | Promise<TensorData>);
}

export interface GgufInput {
  readonly metadata: ReadonlyMap<string, MetadataInput> | Readonly<Record<string, MetadataInput>>;
  readonly tensors: readonly TensorInput[];
  /** A power of two, default 32; other values are stored as general.alignment. */
  readonly alignment?: number | undefined;
}

/**
 * Writes a GGUF version 3 file. Tensor data is streamed: at most one piece is in memory. The file appears at `path`
 * only when complete; before, its name is `path` + '.partial'.
 * @throws FileError BAD_TENSOR or BAD_HEADER for input that no reader would accept; BAD_DATA for tensor data of the
 * wrong length; WRITE_FAILED.
 */
export async function writeGguf(path: string, input: GgufInput): Promise<void> {
  const header = writeHeader(path, input);
  const output = await OutputFile.create(path);
  try {
    await output.write(header);
    for (const tensor of input.tensors)
      await writeTensor(output, tensor, input.alignment ?? defaultAlignment);
    await output.finish();
  } catch (error) {
    await output.abandon();
    throw error;
  }
}

/** The bytes before the tensor data, padded to the alignment. */
function writeHeader(path: string, input: GgufInput): Uint8Array {
  const entries = metadataEntries(path, input);
  const writer = new ByteWriter();
  writer.bytes(Buffer.from('GGUF'));
  writer.u32(version);
  writer.u64(input.tensors.length);
  writer.u64(entries.size);
  for (const [key, value] of entries) writeEntry(writer, path, key, value);
  writeTensorEntries(writer, path, input);
  writer.pad(input.alignment ?? defaultAlignment);
  return writer.result();
}

function metadataEntries(
  path: string,
  { metadata, alignment = defaultAlignment }: GgufInput,
): Map<string, MetadataInput> {
  if (!(alignment > 0 && Number.isInteger(Math.log2(alignment)))) {
    throw new FileError('BAD_HEADER', path, `alignment must be a power of two; it is ${alignment}`);
  }
  const entries = new Map(metadata instanceof Map ? metadata : Object.entries(metadata));
  entries.delete('general.alignment');
  if (alignment !== defaultAlignment) entries.set('general.alignment', { type: 'uint32', value: alignment });
  return entries;
}

function writeEntry(writer: ByteWriter, path: string, key: string, value: MetadataInput): void {
  try {
    writeMetadataEntry(writer, key, value);
  } catch (error) {
    throw new FileError('BAD_HEADER', path, `metadata ${quote(key)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function writeTensorEntries(
  writer: ByteWriter,
  path: string,
  { tensors, alignment = defaultAlignment }: GgufInput,
): void {
  const names = new Set<string>();
  let offset = 0;
  for (const tensor of tensors) {
    if (names.has(tensor.name))
      throw new FileError('BAD_TENSOR', path, `two tensors named ${quote(tensor.name)}`);
    names.add(tensor.name);
    writer.string(tensor.name);
    writer.u32(tensor.shape.length);
    for (const size of tensor.shape.toReversed()) writer.u64(size);
    writer.u32(formats[tensor.format].typeId);
    writer.u64(offset);
    offset = Math.ceil((offset + lengthOf(path, tensor)) / alignment) * alignment;
  }
}

function lengthOf(path: string, { name, format, shape }: TensorInput): number {
  try {
    return byteLength(format, shape);
  } catch (error) {
    throw new FileError('BAD_TENSOR', path, `tensor ${quote(name)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function writeTensor(output: OutputFile, tensor: TensorInput, alignment: number): Promise<void> {
  const expected = lengthOf(output.path, tensor);
  let written = 0;
  for await (const piece of await piecesOf(tensor.data)) {
    await output.write(piece);
    written += piece.length;
  }
  if (written !== expected) {
    const numbers = `${written} bytes of data, but ${tensor.format} [${tensor.shape}] takes ${expected}`;
    throw new FileError('BAD_DATA', output.path, `tensor ${quote(tensor.name)} has ${numbers}`);
  }
  await output.write(new Uint8Array((alignment - (written % alignment)) % alignment));
}

async function piecesOf(data: TensorInput['data']): Promise<AsyncIterable<Uint8Array> | Uint8Array[]> {
  const made = typeof data === 'function' ? await data() : data;
  return made instanceof Uint8Array ? [made] : made;
}
