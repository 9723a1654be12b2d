import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { BackendError } from './error.js';
import { TimeSlice } from './event-loop.js';
import { hostBytes } from './host-memory.js';
import type { FileSlice, WeightBytes, WeightPart, WeightSource } from './weight.js';
import { checkParts, inParts, rowBytesOf, rowsOf } from './weight-parts.js';

/** Fills `target` with bytes of a source, from byte `at` on. */
type Read = (target: Uint8Array, at: number) => Promise<void>;

/** Bytes copied per turn of the event loop. */
const bytesPerTurn = 2 ** 22;

/** Without O_NONBLOCK an open would wait for a pipe. Windows has neither. */
const forReading = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

const bad = (name: string, message: string, cause?: unknown) =>
  new BackendError('BAD_WEIGHT', `[loadWeight] '${name}': ${message}`, { cause });

/**
 * The bytes of a weight in their own memory, from the start of its buffer: files read, parts joined. For drivers that
 * compute on the host or copy weights to a device. Rejects with BAD_WEIGHT if a file cannot be read or parts do not
 * fit, and with OUT_OF_MEMORY. The caller checks that the bytes fit the shape.
 */
export async function readWeight(source: WeightSource): Promise<Uint8Array<ArrayBuffer>> {
  const { name, bytes } = source;
  if (!inParts(bytes)) return readWeightBytes(name, bytes);
  checkParts(source);
  const { width } = rowsOf(source);
  const lengths = bytes.map((part) => part.rows * rowBytesOf(part, width).used);
  const all = allocate(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const [i, part] of bytes.entries()) {
    const target = all.subarray(at, at + lengths[i]!);
    await withReader(name, part.bytes, (read) => readPart(read, part, width, target));
    at += target.length;
  }
  return all;
}

/** Bytes of one piece, such as a part of a GPTQ matrix. */
export function readWeightBytes(name: string, bytes: WeightBytes): Promise<Uint8Array<ArrayBuffer>> {
  return withReader(name, bytes, async (read) => {
    const target = allocate(bytes.byteLength);
    await read(target, 0);
    return target;
  });
}

const allocate = (byteLength: number) => new Uint8Array(hostBytes(byteLength));

/** The weight's columns of a part. `target` has exactly their length. */
async function readPart(read: Read, part: WeightPart, width: number, target: Uint8Array): Promise<void> {
  if (!part.columns) return read(target, 0);
  const { stored, skipped, used } = rowBytesOf(part, width);
  const together = Math.max(1, Math.floor(bytesPerTurn / stored));
  for (let first = 0; first < part.rows; first += together) {
    const rows = Math.min(together, part.rows - first);
    const whole = new Uint8Array(rows * stored);
    await read(whole, first * stored);
    for (let row = 0; row < rows; row++) {
      const from = row * stored + skipped;
      target.set(whole.subarray(from, from + used), (first + row) * used);
    }
  }
}

async function withReader<T>(name: string, bytes: WeightBytes, use: (read: Read) => Promise<T>): Promise<T> {
  if (bytes instanceof Uint8Array) return use((target, at) => copy(bytes, at, target));
  const { path } = bytes;
  const file = await open(path, forReading).catch((cause) => {
    throw bad(name, `cannot open ${path}: ${cause.message}`, cause);
  });
  try {
    await checkSlice(name, file, bytes);
    return await use((target, at) => readFile(name, file, bytes, at, target));
  } finally {
    await file.close();
  }
}

async function checkSlice(
  name: string,
  file: FileHandle,
  { path, offset, byteLength }: FileSlice,
): Promise<void> {
  const status = await file.stat();
  if (!status.isFile()) throw bad(name, `${path} is not a file`);
  if (!(offset >= 0 && byteLength >= 0 && offset + byteLength <= status.size))
    throw bad(name, `bytes ${offset} to ${offset + byteLength} lie outside ${path} (${status.size} bytes)`);
}

async function readFile(
  name: string,
  file: FileHandle,
  { path, offset }: FileSlice,
  at: number,
  target: Uint8Array,
): Promise<void> {
  for (let done = 0; done < target.length; ) {
    const place = offset + at + done;
    const { bytesRead } = await file.read(target, done, target.length - done, place);
    if (bytesRead === 0) throw bad(name, `${path} ended early, at byte ${place}`);
    done += bytesRead;
  }
}

async function copy(source: Uint8Array, at: number, target: Uint8Array): Promise<void> {
  const slice = new TimeSlice();
  for (let done = 0; done < target.length; done += bytesPerTurn) {
    const end = Math.min(done + bytesPerTurn, target.length);
    target.set(source.subarray(at + done, at + end), done);
    if (slice.over) await slice.yield();
  }
}
