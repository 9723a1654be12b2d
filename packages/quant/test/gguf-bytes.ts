// A GGUF file built by hand, so that every field can be wrong.

export const u32 = (value: number) => [...new Uint8Array(Uint32Array.of(value).buffer)];
export const u64 = (value: number | bigint) => [...new Uint8Array(BigUint64Array.of(BigInt(value)).buffer)];
export const text = (value: string, length: number | bigint = Buffer.byteLength(value)) => [
  ...u64(length),
  ...Buffer.from(value),
];

export interface RawTensor {
  name?: number[];
  dims?: (number | bigint)[];
  type?: number;
  offset?: number | bigint;
}

export interface RawGguf {
  magic?: string;
  version?: number;
  tensorCount?: number | bigint;
  entryCount?: number | bigint;
  entries?: number[][];
  tensors?: RawTensor[];
  dataBytes?: number;
}

export const entry = (key: string, type: number, value: number[]) => [...text(key), ...u32(type), ...value];

export function rawTensor({ name = text('a'), dims = [32], type = 0, offset = 0 }: RawTensor): number[] {
  return [...name, ...u32(dims.length), ...dims.flatMap(u64), ...u32(type), ...u64(offset)];
}

/** By default: version 3, no metadata, no tensors, 128 bytes of data. */
export function rawGguf(raw: RawGguf): Uint8Array {
  const { entries = [], tensors = [] } = raw;
  const header = [
    ...Buffer.from(raw.magic ?? 'GGUF'),
    ...u32(raw.version ?? 3),
    ...u64(raw.tensorCount ?? tensors.length),
    ...u64(raw.entryCount ?? entries.length),
    ...entries.flat(),
    ...tensors.flatMap(rawTensor),
  ];
  const padded = Math.ceil(header.length / 32) * 32;
  const bytes = new Uint8Array(padded + (raw.dataBytes ?? 128));
  bytes.set(header);
  return bytes;
}
