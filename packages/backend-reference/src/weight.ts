import {
  BackendError,
  bf16ToF32,
  type DriverGptqWeight,
  type DriverWeight,
  elementCount,
  f16ToF32,
  type GptqSource,
  readWeight,
  readWeightBytes,
  type WeightBytes,
  type WeightSource,
} from '@quern/core';
import { GptqRows } from '@quern/quant';

/** A weight as plain numbers. */
export interface DenseWeight extends DriverWeight {
  readonly values: Float32Array;
}

let id = 0;

const decoders: Readonly<Record<string, { bytes: number; read(view: DataView, at: number): number }>> = {
  f32: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  f16: { bytes: 2, read: (view, at) => f16ToF32(view.getUint16(at, true)) },
  bf16: { bytes: 2, read: (view, at) => bf16ToF32(view.getUint16(at, true)) },
};

const bad = ({ name }: { readonly name: string }, message: string) =>
  new BackendError('BAD_WEIGHT', `[loadWeight] '${name}': ${message}`);

/** Loads a weight in a dense format. Throws BAD_WEIGHT if the bytes do not fit the shape. */
export async function loadDense(source: WeightSource): Promise<DenseWeight> {
  const decoder = decoders[source.format];
  if (!decoder)
    throw new BackendError('UNSUPPORTED', `[loadWeight] '${source.name}' is in format ${source.format}`);
  const bytes = await readWeight(source);
  const count = elementCount(source.shape);
  if (bytes.byteLength !== count * decoder.bytes)
    throw bad(
      source,
      `shape [${source.shape}] in ${source.format} takes ${count * decoder.bytes} bytes; got ${bytes.byteLength}`,
    );
  const view = new DataView(bytes.buffer);
  const values = Float32Array.from({ length: count }, (_, i) => decoder.read(view, i * decoder.bytes));
  return { id: id++, byteLength: values.byteLength, values };
}

/** Loads a GPTQ matrix as floats. Throws BAD_WEIGHT if a column has a group outside the matrix. */
export async function loadGptq(source: GptqSource): Promise<DenseWeight & DriverGptqWeight> {
  const { name, shape } = source;
  const read = (bytes: WeightBytes) => readWeightBytes(name, bytes);
  const rows = new GptqRows({
    ...source,
    qweight: await read(source.qweight),
    qzeros: await read(source.qzeros),
    scales: await read(source.scales),
    groupIndex: source.groupIndex && (await read(source.groupIndex)),
  });
  const values = new Float32Array(elementCount(shape));
  rows.decode(0, shape[0], values);
  return { id: id++, byteLength: values.byteLength, values, format: 'f32' };
}
