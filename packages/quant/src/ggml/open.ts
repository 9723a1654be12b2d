import { byteLength } from '../format/byte-length.js';
import { formatOfType, type GgufFormat } from '../format/formats.js';
import { ggmlTypeName } from '../format/ggml-types.js';
import { Cursor, MoreBytesNeeded, maxHeaderBytes } from '../gguf/cursor.js';
import type { TensorInfo } from '../gguf/gguf-file.js';
import { quote } from '../gguf/read-metadata.js';
import { InputFile } from '../input-file.js';

/** A model file of whisper.cpp, without the tensors' bytes. */
export interface GgmlFile {
  readonly path: string;
  /** The numbers in its header, by whisper.cpp's names: n_vocab, n_audio_state and so on. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Bytes of each text token, in id order. The file has none for special tokens. */
  readonly tokens: readonly Uint8Array[];
  /** In file order. */
  readonly tensors: readonly TensorInfo[];
}

/** 'ggml' as the first little-endian word. */
export const ggmlMagic = 0x67676d6c;

/** The words after the magic, in file order. */
export const ggmlSizes = [
  'n_vocab',
  'n_audio_ctx',
  'n_audio_state',
  'n_audio_head',
  'n_audio_layer',
  'n_text_ctx',
  'n_text_state',
  'n_text_head',
  'n_text_layer',
  'n_mels',
  'ftype',
] as const;

const maxTokens = 2 ** 20; // Whisper has 51 866
const maxTokenBytes = 1024;
const maxTensors = 2 ** 16; // the largest Whisper has some 1260
const maxDimensions = 4;
const maxNameBytes = 256;
const firstChunk = 1024 * 1024; // holds the header of every Whisper

/** Whether a file begins like a whisper.cpp model. @throws FileError NOT_FOUND, NOT_A_FILE, READ_FAILED. */
export async function isGgml(path: string): Promise<boolean> {
  const file = await InputFile.open(path);
  try {
    if (file.size < 4) return false;
    const word = new Uint8Array(4);
    await file.read(0, word);
    return new DataView(word.buffer).getUint32(0, true) === ggmlMagic;
  } finally {
    await file.close();
  }
}

/**
 * Opens a model file of whisper.cpp (`ggml-base.bin`): sizes, vocabulary and places of the tensors, never their data.
 * @throws FileError NOT_FOUND, NOT_A_FILE, READ_FAILED, NOT_GGML, TRUNCATED, TOO_LARGE, BAD_TENSOR or UNKNOWN_FORMAT.
 */
export async function openGgml(path: string): Promise<GgmlFile> {
  const file = await InputFile.open(path);
  try {
    const head = await readHead(file);
    return { path, sizes: head.sizes, tokens: head.tokens, tensors: await readTensors(file, head.end) };
  } finally {
    await file.close();
  }
}

interface Head {
  readonly sizes: ReadonlyMap<string, number>;
  readonly tokens: readonly Uint8Array[];
  /** First byte of the tensors. */
  readonly end: number;
}

async function readHead(file: InputFile): Promise<Head> {
  for (let size = firstChunk; ; ) {
    const bytes = new Uint8Array(Math.min(size, file.size));
    await file.read(0, bytes);
    try {
      return parseHead(new Cursor(bytes, file.size, file.path));
    } catch (error) {
      if (!(error instanceof MoreBytesNeeded)) throw error;
      size = Math.max(error.upTo, Math.min(4 * size, maxHeaderBytes));
    }
  }
}

function parseHead(cursor: Cursor): Head {
  if (cursor.fileSize < 4 || cursor.u32() !== ggmlMagic)
    cursor.fail('NOT_GGML', "is not a model file of whisper.cpp: it does not begin with the letters 'lmgg'");
  const sizes = new Map<string, number>();
  for (const name of ggmlSizes) sizes.set(name, cursor.u32());
  cursor.reading = 'the mel filters';
  const filters = cursor.u32() * cursor.u32();
  cursor.checkCount(filters, 4, maxHeaderBytes / 4, 'values');
  cursor.take(4 * filters); // skipped: the number of bands determines them
  cursor.reading = 'the vocabulary';
  const count = cursor.u32();
  cursor.checkCount(count, 4, maxTokens, 'tokens');
  const tokens = Array.from({ length: count }, () => {
    const length = cursor.u32();
    if (length > maxTokenBytes)
      cursor.fail('TOO_LARGE', `has a token of ${length} bytes; the limit is ${maxTokenBytes}`);
    return cursor.bytes(length);
  });
  return { sizes, tokens, end: cursor.position };
}

/** Description and data of each tensor in turn, to the end of the file. */
async function readTensors(file: InputFile, start: number): Promise<TensorInfo[]> {
  const tensors: TensorInfo[] = [];
  const names = new Set<string>();
  const longest = 4 * (3 + maxDimensions) + maxNameBytes;
  for (let at = start; at < file.size; ) {
    const bytes = new Uint8Array(Math.min(longest, file.size - at));
    await file.read(at, bytes);
    const cursor = new Cursor(bytes, bytes.length, file.path);
    cursor.reading = `the description of tensor ${tensors.length}, which begins at byte ${at}`;
    if (tensors.length === maxTensors) cursor.fail('TOO_LARGE', `has more than ${maxTensors} tensors`);
    const tensor = readTensor(cursor, at, file);
    if (names.has(tensor.name)) cursor.fail('BAD_TENSOR', `has two tensors named ${quote(tensor.name)}`);
    names.add(tensor.name);
    tensors.push(tensor);
    at = tensor.offset + tensor.byteLength;
  }
  return tensors;
}

function readTensor(cursor: Cursor, at: number, file: InputFile): TensorInfo {
  const [dimensions, nameBytes, type] = [cursor.u32(), cursor.u32(), cursor.u32()];
  if (dimensions > maxDimensions)
    cursor.fail(
      'BAD_TENSOR',
      `${cursor.reading} gives ${dimensions} dimensions; at most ${maxDimensions} are possible`,
    );
  if (nameBytes > maxNameBytes)
    cursor.fail(
      'TOO_LARGE',
      `${cursor.reading} has a name of ${nameBytes} bytes; the limit is ${maxNameBytes}`,
    );
  const shape = Array.from({ length: dimensions }, () => cursor.u32()).reverse();
  const name = Buffer.from(cursor.bytes(nameBytes)).toString('utf8');
  const format = formatOfType(type) ?? unknownType(cursor, name, type);
  const bytes = bytesOf(cursor, name, format, shape);
  const offset = at + cursor.position;
  if (offset + bytes > file.size)
    cursor.fail(
      'TRUNCATED',
      `tensor ${quote(name)} needs bytes ${offset} to ${offset + bytes}, but the file has ${file.size}: it is incomplete or damaged; fetch it again`,
    );
  return { name, shape, format, path: file.path, offset, byteLength: bytes };
}

function unknownType(cursor: Cursor, name: string, type: number): never {
  const known = ggmlTypeName(type);
  const which = known ? `is in the format ${known}, which Quern does not read` : 'has an unknown ggml type';
  return cursor.fail('UNKNOWN_FORMAT', `tensor ${quote(name)} ${which} (ggml type ${type})`);
}

function bytesOf(cursor: Cursor, name: string, format: GgufFormat, shape: readonly number[]): number {
  try {
    return byteLength(format, shape);
  } catch (error) {
    return cursor.fail('BAD_TENSOR', `tensor ${quote(name)}: ${(error as Error).message}`);
  }
}
