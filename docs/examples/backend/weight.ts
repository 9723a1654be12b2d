import {
  BackendError,
  bf16ToF32,
  type DriverWeight,
  elementCount,
  f16ToF32,
  readWeight,
  type WeightSource,
} from '@quern/core';

/** A weight as f32 elements, row-major. */
export interface PlainWeight extends DriverWeight {
  readonly values: Float32Array;
}

let nextId = 0;

/** Files are little-endian. This code assumes a little-endian machine. */
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
  const { buffer } = await readWeight(source);
  const want = elementCount(source.shape) * decoder.bytes;
  if (buffer.byteLength !== want)
    throw new BackendError(
      'BAD_WEIGHT',
      `[loadWeight] '${source.name}': [${source.shape}] in ${source.format} takes ${want} bytes; got ${buffer.byteLength}`,
    );
  const values = decoder.decode(buffer);
  return { id: nextId++, byteLength: values.byteLength, values };
}
