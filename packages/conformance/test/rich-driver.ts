import { kernelOf, referenceDriver } from '@quern/backend-reference';
import type { Codec } from '@quern/conformance';
import {
  BackendError,
  cacheDtypes,
  type DriverWeight,
  elementCount,
  type FusedOpName,
  fusedOps,
  inParts,
  type Kernel,
  type KernelDriver,
  type OpSupport,
  readWeight,
  type WeightSource,
} from '@quern/core';

/** A block format for tests: a float32 scale and four signed bytes. */
export const toyCodec: Codec = {
  format: 'toy',
  blockSize: 4,
  blockBytes: 8,
  decode(bytes, count) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Float32Array.from({ length: count }, (_, i) => {
      const block = Math.floor(i / 4) * 8;
      return Math.fround(view.getFloat32(block, true) * view.getInt8(block + 4 + (i % 4)));
    });
  },
};

/** The values of a toy weight, with the checks of a driver. */
export async function decodeToy(source: WeightSource): Promise<Float32Array> {
  const { name, shape, bytes } = source;
  const columns = shape[shape.length - 1]!;
  const count = elementCount(shape);
  const cuts = inParts(bytes) ? bytes.map((part) => part.columns?.from ?? 0) : [];
  const stored = await readWeight(source);
  if ([columns, ...cuts].some((place) => place % 4 !== 0) || stored.length !== 2 * count)
    throw new BackendError('BAD_WEIGHT', `[loadWeight] '${name}' [${shape}] takes whole blocks of 4`);
  return toyCodec.decode(stored, count);
}

const support: OpSupport = {
  dtypes: ['f32', 'f16', 'bf16'],
  weightFormats: ['f32', 'f16', 'bf16', 'toy'],
  cacheDtypes,
};

const mapValues = <From, To>(record: Readonly<Record<string, From>>, map: (value: From, key: string) => To) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));

/** The reference driver with every fused op and a block format: all that a single driver can have. */
export function richDriver(): KernelDriver {
  const driver = referenceDriver();
  const names = Object.keys(fusedOps) as FusedOpName[];
  let id = 1_000_000;
  return {
    ...driver,
    name: 'rich',
    manifest: {
      ops: { ...driver.manifest.ops, embed: support, linear: support, expertLinear: support },
      fused: Object.fromEntries(names.map((name) => [name, support])),
    },
    capabilities: { ...driver.capabilities, quantGguf: { formats: ['toy'] }, moeFused: true },
    kernels: { ...driver.kernels, ...mapValues(fusedOps, (op): Kernel => kernelOf(op)) },
    async loadWeight(source): Promise<DriverWeight> {
      if (source.format !== 'toy') return driver.loadWeight(source);
      const values = await decodeToy(source);
      const weight = { id: id++, byteLength: values.byteLength, values };
      return weight;
    },
  };
}
