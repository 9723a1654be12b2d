import {
  type DriverBuffer,
  type DriverKv,
  dtypeBytes,
  type HostBuffer,
  type Kernel,
  type KernelDriver,
  type KernelMemory,
  type KernelWeight,
  type KvSpec,
  kvOf,
  kvShape,
} from '@quern/core';

type Direction = 'to own' | 'to canonical';

/** Blocks [size, Hk, d] as [Hk, size, d], or back. */
export function reordered(bytes: Uint8Array, spec: KvSpec, direction: Direction): Uint8Array {
  const [, size, heads, row] = kvShape(spec) as [number, number, number, number];
  const rowBytes = row * dtypeBytes[spec.dtype];
  const result = new Uint8Array(bytes.length);
  for (let block = 0; block < bytes.length; block += size * heads * rowBytes)
    for (let s = 0; s < size; s++)
      for (let h = 0; h < heads; h++) {
        const canonical = block + (s * heads + h) * rowBytes;
        const own = block + (h * size + s) * rowBytes;
        const [from, to] = direction === 'to own' ? [canonical, own] : [own, canonical];
        result.set(bytes.subarray(from, from + rowBytes), to);
      }
  return result;
}

/** The kernel for canonical caches, on caches [blocks, Hk, size, d]: runs on canonical copies and copies them back. */
export const overCaches =
  (kernel: Kernel, specOf: (buffer: DriverBuffer) => KvSpec | undefined): Kernel =>
  (operands, attributes, outputs) => {
    const copies = new Map<HostBuffer, Uint8Array>();
    const canonical = (operand: KernelMemory | KernelWeight): KernelMemory | KernelWeight => {
      if (operand.kind === 'weight') return operand;
      const [buffer, spec] = [operand.buffer as HostBuffer, specOf(operand.buffer)];
      if (!spec) return operand;
      const bytes = copies.get(buffer) ?? reordered(new Uint8Array(buffer.bytes), spec, 'to canonical');
      copies.set(buffer, bytes);
      return { ...operand, buffer: { id: buffer.id, bytes: bytes.buffer } as HostBuffer };
    };
    const putBack = () => {
      for (const [buffer, bytes] of copies)
        new Uint8Array(buffer.bytes).set(reordered(bytes, specOf(buffer)!, 'to own'));
    };
    const named = Object.entries(operands).map(([name, operand]) => [name, canonical(operand)] as const);
    const computed = kernel(Object.fromEntries(named), attributes, outputs);
    if (computed) return computed.then(putBack);
    putBack();
  };

/**
 * The driver with caches in its own layout [blocks, Hk, size, d]: blocks are reordered on the way in and out. `honest`
 * false: not reordered.
 */
export function headsFirst(driver: KernelDriver, honest = true): KernelDriver {
  const plain = kvOf(driver);
  const specs = new Map<DriverBuffer, KvSpec>();
  const cross = (buffer: DriverBuffer, bytes: Uint8Array, direction: Direction) =>
    honest ? reordered(bytes, specs.get(buffer)!, direction) : bytes;
  const kv: DriverKv = {
    allocate(spec) {
      const buffer = plain.allocate(spec);
      specs.set(buffer, spec);
      return buffer;
    },
    async read(buffer, first, count, bytes) {
      await plain.read(buffer, first, count, bytes);
      bytes.set(cross(buffer, bytes, 'to canonical'));
    },
    write: (buffer, first, count, bytes) => plain.write(buffer, first, count, cross(buffer, bytes, 'to own')),
  };
  const kernels = Object.entries<Kernel>(driver.kernels).map(([name, kernel]) => [
    name,
    overCaches(kernel, (buffer) => specs.get(buffer)),
  ]);
  return { ...driver, name: 'heads-first', kv, kernels: Object.fromEntries(kernels) };
}
