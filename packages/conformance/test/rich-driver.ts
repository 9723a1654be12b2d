import { type DenseWeight, kernelOf, referenceDriver } from '@quern/backend-reference';
import type { Codec } from '@quern/conformance';
import {
  BackendError,
  cacheDtypes,
  type DriverWeight,
  elementCount,
  type FusedOpName,
  fusedOps,
  type Kernel,
  type KernelDriver,
  type OpSupport,
  type WeightSource,
} from '@quern/core';

/** A block format of the test's own: a float32 scale and four signed bytes. */
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

/** The values of a toy weight, checked as a driver must. */
export function decodeToy({ name, shape, bytes }: WeightSource): Float32Array {
  const columns = shape[shape.length - 1]!;
  const rows = elementCount(shape) / columns;
  if (!(bytes instanceof Uint8Array) || columns % 4 !== 0 || bytes.length !== rows * columns * 2)
    throw new BackendError('BAD_WEIGHT', `[loadWeight] '${name}' [${shape}] takes whole blocks of 4`);
  return toyCodec.decode(bytes, rows * columns);
}

const support: OpSupport = {
  dtypes: ['f32', 'f16', 'bf16'],
  weightFormats: ['f32', 'f16', 'bf16', 'toy'],
  cacheDtypes,
};

const mapValues = <From, To>(record: Readonly<Record<string, From>>, map: (value: From, key: string) => To) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));

/** The reference driver with every fused op and a block format: as much as a driver can have by itself. */
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
    async loadExperts(sources): Promise<DenseWeight> {
      const parts = await Promise.all(
        sources.map((source) => driver.loadWeight(source) as Promise<DenseWeight>),
      );
      const values = Float32Array.from(parts.flatMap((part) => Array.from(part.values)));
      return { id: id++, byteLength: values.byteLength, values };
    },
    kernels: { ...driver.kernels, ...mapValues(fusedOps, (op): Kernel => kernelOf(op)) },
    async loadWeight(source): Promise<DriverWeight> {
      if (source.format !== 'toy') return driver.loadWeight(source);
      const values = decodeToy(source);
      const weight = { id: id++, byteLength: values.byteLength, values };
      return weight;
    },
  };
}
