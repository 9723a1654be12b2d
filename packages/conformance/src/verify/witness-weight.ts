import {
  bf16ToF32,
  type DriverWeight,
  elementCount,
  f16ToF32,
  readWeight,
  type Weight,
  type WeightSource,
} from '@quern/core';
import type { Codec } from '../conformance-options.js';
import { ConformanceError } from '../error.js';

/** A weight twice: as floats, and as loaded by the backend under test. */
export interface WitnessWeight extends DriverWeight {
  readonly name: string;
  readonly values: Float32Array;
  readonly tested: Weight;
}

const dense: Readonly<Record<string, (bytes: ArrayBufferLike) => Float32Array>> = {
  f32: (bytes) => new Float32Array(bytes),
  f16: (bytes) => Float32Array.from(new Uint16Array(bytes), f16ToF32),
  bf16: (bytes) => Float32Array.from(new Uint16Array(bytes), bf16ToF32),
};

/** Floats of a source's bytes. Throws BAD_OPTION for a format without a codec. */
export async function floatsOf(source: WeightSource, codecs: readonly Codec[]): Promise<Float32Array> {
  const { name, format, shape } = source;
  const codec = codecs.find((known) => known.format === format);
  if (!codec && !dense[format])
    throw new ConformanceError('BAD_OPTION', `'${name}' is in format ${format}, for which there is no codec`);
  const bytes = await readWeight(source);
  return codec ? codec.decode(bytes, elementCount(shape)) : dense[format]!(bytes.buffer);
}
