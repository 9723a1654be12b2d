import type { KernelMemory } from './driver.js';
import type { DriverBuffer, DriverMemory } from './driver-memory.js';
import { elementCount, type HostArrays, hostArray } from './dtype.js';
import { BackendError } from './error.js';

export interface HostBuffer extends DriverBuffer {
  readonly bytes: ArrayBuffer;
}

/** Zeroed memory of the host. Throws OUT_OF_MEMORY. */
export function hostBytes(byteLength: number): ArrayBuffer {
  try {
    return new ArrayBuffer(byteLength);
  } catch (cause) {
    throw new BackendError('OUT_OF_MEMORY', `cannot allocate ${byteLength} bytes of host memory`, { cause });
  }
}

/** DriverMemory in ordinary JavaScript memory, for drivers that compute on the host. */
export function hostMemory(): DriverMemory<HostBuffer> {
  let id = 0;
  return {
    allocate: (byteLength) => ({ id: id++, bytes: hostBytes(byteLength) }),
    free() {},
    async write({ bytes }, byteOffset, source) {
      new Uint8Array(bytes, byteOffset, source.byteLength).set(source);
    },
    async read({ bytes }, byteOffset, target) {
      target.set(new Uint8Array(bytes, byteOffset, target.byteLength));
    },
  };
}

/** The elements of a kernel's tensor or buffer, without a copy. 16-bit floats as bit patterns. */
export function elements(memory: KernelMemory): HostArrays[keyof HostArrays] {
  const { bytes } = memory.buffer as HostBuffer;
  return hostArray(memory.dtype, bytes, memory.byteOffset, elementCount(memory.shape));
}
