import { runInTurns } from '@quern/core';
import { InputFile } from '../input-file.js';
import { Cursor, MoreBytesNeeded, maxHeaderBytes } from './cursor.js';
import type { GgufFile } from './gguf-file.js';
import { parseHeader } from './parse.js';
import { joinSplit } from './split.js';

const firstChunk = 1024 * 1024; // holds the whole header of a model with a vocabulary of 32 000
const growth = 4; // each retry parses from the start: factor 4 costs a third more work in total

/**
 * Opens a GGUF model: reads its header, never its tensor data. Any part of a split model (`-00001-of-0000N.gguf`) opens
 * the whole model.
 * @throws FileError NOT_FOUND, NOT_A_FILE, READ_FAILED, NOT_GGUF, BIG_ENDIAN, UNSUPPORTED_VERSION, TRUNCATED,
 * TOO_LARGE, BAD_HEADER, BAD_TENSOR, UNKNOWN_FORMAT or BAD_SPLIT.
 */
export async function openGguf(path: string): Promise<GgufFile> {
  return joinSplit(await openPart(path), openPart);
}

async function openPart(path: string): Promise<GgufFile> {
  const file = await InputFile.open(path);
  try {
    return await readHeader(file);
  } finally {
    await file.close();
  }
}

async function readHeader(file: InputFile): Promise<GgufFile> {
  let bytes = new Uint8Array(0);
  for (let size = firstChunk; ; ) {
    bytes = await extend(file, bytes, Math.min(size, file.size));
    try {
      return await runInTurns(parseHeader(new Cursor(bytes, file.size, file.path)));
    } catch (error) {
      if (!(error instanceof MoreBytesNeeded)) throw error;
      size = Math.max(error.upTo, Math.min(size * growth, maxHeaderBytes));
    }
  }
}

/** The first `size` bytes of the file; `known` has been read already. */
async function extend(file: InputFile, known: Uint8Array, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(size);
  bytes.set(known);
  await file.read(known.length, bytes.subarray(known.length));
  return bytes;
}
