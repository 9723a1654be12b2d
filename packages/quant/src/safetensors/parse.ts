import { FileError, type FileErrorCode } from '../error.js';
import { dtypeBits, dtypeOf } from './dtypes.js';
import { tooDeepAt } from './json-depth.js';
import type { SafetensorsFile, SafetensorsTensor } from './safetensors-file.js';

/** The limit of the safetensors library itself. */
export const maxHeaderBytes = 100_000_000;

const maxDepth = 3; // { name: { shape: [] } }

/**
 * Reads the JSON header of one safetensors file.
 * @param header the bytes after the 8-byte length
 * @param fileSize bytes of the whole file
 * @throws FileError BAD_HEADER, BAD_TENSOR, UNKNOWN_FORMAT or TRUNCATED.
 */
export function parseHeader(header: Uint8Array, fileSize: number, path: string): SafetensorsFile {
  const fail: Fail = (code, detail) => {
    throw new FileError(code, path, detail);
  };
  const { __metadata__: metadata = {}, ...entries } = parseJson(header, fail);
  const dataOffset = 8 + header.length;
  const tensors = Object.entries(entries).map(([name, entry]) =>
    readTensor(name, entry, dataOffset, path, fail),
  );
  tensors.sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  checkTiling(tensors, dataOffset, fileSize, fail);
  return { metadata: readMetadata(metadata, fail), tensors, paths: [path] };
}

type Fail = (code: FileErrorCode, detail: string) => never;

function parseJson(header: Uint8Array, fail: Fail): Record<string, unknown> {
  if (header[0] !== 0x7b)
    fail('NOT_SAFETENSORS', 'is not a safetensors file: its header does not begin with {');
  const deep = tooDeepAt(header, maxDepth);
  if (deep !== undefined)
    fail('BAD_HEADER', `its header nests more than ${maxDepth} deep at byte ${8 + deep}`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(header));
  } catch (error) {
    return fail('BAD_HEADER', `its header is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
}

function readMetadata(metadata: unknown, fail: Fail): Map<string, string> {
  const entries = Object.entries(
    isRecord(metadata) ? metadata : fail('BAD_HEADER', '__metadata__ is not an object'),
  );
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) {
    return fail('BAD_HEADER', '__metadata__ may hold strings only');
  }
  return new Map(entries);
}

function readTensor(
  name: string,
  entry: unknown,
  dataOffset: number,
  path: string,
  fail: Fail,
): SafetensorsTensor {
  const refuse: Fail = (code, detail) => fail(code, `tensor ${JSON.stringify(name.slice(0, 80))} ${detail}`);
  if (!isRecord(entry)) refuse('BAD_TENSOR', 'is not described by an object');
  const { dtype: dtypeName, shape, data_offsets: offsets } = entry as Record<string, unknown>;
  if (!isSizes(shape)) return refuse('BAD_TENSOR', 'has a shape that is not a list of whole numbers');
  if (!isSizes(offsets) || offsets.length !== 2)
    return refuse('BAD_TENSOR', 'has data_offsets that are not two whole numbers');
  const dtype =
    dtypeOf(String(dtypeName)) ??
    refuse('UNKNOWN_FORMAT', `has the unknown dtype ${String(dtypeName).slice(0, 40)}`);
  const [begin, end] = offsets as [number, number];
  const bytes = shape.reduce((product, size) => product * size, 1) * (dtypeBits[dtype] / 8);
  if (bytes !== end - begin)
    refuse('BAD_TENSOR', `[${shape.slice(0, 8)}] of ${dtype} takes ${bytes} bytes, but has ${end - begin}`);
  return { name, shape, dtype, path, offset: dataOffset + begin, byteLength: bytes };
}

/**
 * Tensors must fill the file from the header to its end, in any order, without holes, as the safetensors library
 * requires.
 */
function checkTiling(
  tensors: readonly SafetensorsTensor[],
  dataOffset: number,
  fileSize: number,
  fail: Fail,
): void {
  let at = dataOffset;
  for (const { name, offset, byteLength } of tensors) {
    if (offset !== at) {
      const fault = offset < at ? 'overlaps the one before it' : 'leaves a hole before it';
      fail(
        'BAD_TENSOR',
        `tensor ${JSON.stringify(name.slice(0, 80))} ${fault}: it begins at byte ${offset}, expected ${at}`,
      );
    }
    at = offset + byteLength;
  }
  if (at > fileSize)
    fail(
      'TRUNCATED',
      `its tensors end at byte ${at}, but the file has ${fileSize}: it is incomplete; fetch it again`,
    );
  if (at < fileSize) fail('BAD_HEADER', `its tensors end at byte ${at}, but the file has ${fileSize}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}
