import { open } from 'node:fs/promises';
import {
  BackendError,
  bf16ToF32,
  type DriverWeight,
  elementCount,
  f16ToF32,
  type WeightSource,
} from '@quern/core';

/** A weight of this driver: its elements as f32, row-major. */
export interface PlainWeight extends DriverWeight {
  readonly values: Float32Array;
}

let nextId = 0;

const bad = ({ name }: WeightSource, message: string, cause?: unknown) =>
  new BackendError('BAD_WEIGHT', `[loadWeight] '${name}': ${message}`, { cause });

/** A copy of the source's bytes, at the start of a buffer of its own. */
async function readBytes(source: WeightSource): Promise<ArrayBuffer> {
  if (source.bytes instanceof Uint8Array) return new Uint8Array(source.bytes).buffer;
  const { path, offset, byteLength } = source.bytes;
  const file = await open(path).catch((cause) => {
    throw bad(source, `cannot open ${path}: ${cause.message}`, cause);
  });
  try {
    const { size } = await file.stat();
    if (offset < 0 || offset + byteLength > size)
      throw bad(source, `bytes ${offset} to ${offset + byteLength} lie outside ${path} (${size} bytes)`);
    const bytes = new Uint8Array(byteLength);
    for (let done = 0; done < byteLength; ) {
      const { bytesRead } = await file.read(bytes, done, byteLength - done, offset + done);
      if (bytesRead === 0) throw bad(source, `${path} ended early, at byte ${offset + done}`);
      done += bytesRead;
    }
    return bytes.buffer;
  } finally {
    await file.close();
  }
}

/** Files are little-endian, as are the machines that Node runs on. */
const decoders: Readonly<Record<string, { bytes: number; decode(bytes: ArrayBuffer): Float32Array }>> = {
  f32: { bytes: 4, decode: (bytes) => new Float32Array(bytes) },
  f16: { bytes: 2, decode: (bytes) => Float32Array.from(new Uint16Array(bytes), f16ToF32) },
  bf16: { bytes: 2, decode: (bytes) => Float32Array.from(new Uint16Array(bytes), bf16ToF32) },
};

/** Loads a weight in one of the dense formats. Throws BAD_WEIGHT, UNSUPPORTED. */
export async function loadWeight(source: WeightSource): Promise<PlainWeight> {
  const decoder = decoders[source.format];
  if (!decoder)
    throw new BackendError('UNSUPPORTED', `[loadWeight] '${source.name}' is in format ${source.format}`);
  const want = elementCount(source.shape) * decoder.bytes;
  if (source.bytes.byteLength !== want)
    throw bad(
      source,
      `[${source.shape}] in ${source.format} takes ${want} bytes; got ${source.bytes.byteLength}`,
    );
  const values = decoder.decode(await readBytes(source));
  return { id: nextId++, byteLength: values.byteLength, values };
}
