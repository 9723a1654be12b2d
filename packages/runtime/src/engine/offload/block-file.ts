import { webcrypto } from 'node:crypto';
import { type KvCache, kvElements } from '@quern/core';

/**
 * The file of one block: a header, then the values of `KvCache.readBlocks`. Numbers are u32, little-endian.
 *
 * | bytes | field                                                         |
 * | ----- | ------------------------------------------------------------- |
 * | 8     | 'QUERN-KV'                                                    |
 * | 4     | version                                                       |
 * | 32    | identity of the model and its computation (`cacheIdentity`)   |
 * | 32    | name of the block                                             |
 * | 8     | element type, ASCII, filled up with zero bytes                |
 * | 16    | tokens per block, layers, Hk, d                               |
 * | 8     | bytes of the values, u64                                      |
 * | 32    | SHA-256 of the values                                         |
 */
const sections = [
  ['mark', 8],
  ['version', 4],
  ['model', 32],
  ['name', 32],
  ['type', 8],
  ['shape', 16],
  ['size', 8],
] as const;
const checksumBytes = 32;
const fixedBytes = sections.reduce((sum, [, bytes]) => sum + bytes, 0);
export const headerBytes = fixedBytes + checksumBytes;

const mark = 'QUERN-KV';
const version = 1;

/** What the section of a foreign file says. */
const faults: Readonly<Record<(typeof sections)[number][0], string>> = {
  mark: 'it is no file of this cache',
  version: 'it has another version of the format',
  model: 'it belongs to another model, backend or precision',
  name: 'it belongs to other tokens',
  type: 'its values have another type',
  shape: 'its values have another shape',
  size: 'its size is wrong',
};

/** What all files of a cache have in common. */
export interface BlockForm {
  /** 64 hexadecimal digits. */
  readonly identity: string;
  readonly cache: Pick<KvCache, 'options' | 'blockSize' | 'blockBytes'>;
}

/** Bytes of a file. */
export const fileBytes = ({ cache }: BlockForm): number => headerBytes + cache.blockBytes;

/** Header and values. The checksum is computed on a thread of Node. */
export async function encodeBlock(form: BlockForm, name: string, values: Uint8Array): Promise<Uint8Array> {
  const bytes = new Uint8Array(headerBytes + values.length);
  bytes.set(fixedHeader(form, name));
  bytes.set(await checksum(values), fixedBytes);
  bytes.set(values, headerBytes);
  return bytes;
}

/** The values, or why the file cannot be used. */
export async function decodeBlock(
  form: BlockForm,
  name: string,
  bytes: Uint8Array,
): Promise<Uint8Array | string> {
  if (bytes.length < headerBytes) return 'it is too short';
  const fault = headerFault(fixedHeader(form, name), bytes);
  if (fault) return fault;
  const values = bytes.subarray(headerBytes);
  if (values.length !== form.cache.blockBytes) return 'it is cut off, or too long';
  const found = bytes.subarray(fixedBytes, headerBytes);
  return Buffer.compare(found, await checksum(values)) === 0
    ? values
    : 'its checksum is wrong: it is damaged';
}

function headerFault(wanted: Uint8Array, bytes: Uint8Array): string | undefined {
  let at = 0;
  for (const [section, length] of sections) {
    const end = at + length;
    if (Buffer.compare(wanted.subarray(at, end), bytes.subarray(at, end)) !== 0) return faults[section];
    at = end;
  }
  return undefined;
}

/** The header without the checksum. */
function fixedHeader({ identity, cache }: BlockForm, name: string): Buffer {
  const { layers, kvHeads, headDim, dtype } = cache.options;
  const header = Buffer.alloc(fixedBytes);
  header.write(mark, 0, 'latin1');
  header.writeUInt32LE(version, 8);
  header.write(identity, 12, 'hex');
  header.write(name, 44, 'hex');
  header.write(kvElements[dtype], 76, 'latin1');
  for (const [i, size] of [cache.blockSize, layers, kvHeads, headDim].entries())
    header.writeUInt32LE(size, 84 + 4 * i);
  header.writeBigUInt64LE(BigInt(cache.blockBytes), 100);
  return header;
}

const checksum = async (values: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await webcrypto.subtle.digest('SHA-256', values));
