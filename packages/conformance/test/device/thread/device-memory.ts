import type { DenseWeight } from '@quern/backend-reference';
import { BackendError, elementCount, type HostBuffer, regions } from '@quern/core';

const malformed = (message: string) => new BackendError('BAD_ARGUMENT', `the plan is malformed: ${message}`);

/** Everything that the device holds, by the ids that plans name. */
export class DeviceMemory {
  private readonly buffers = new Map<number, HostBuffer>();
  private readonly weights = new Map<
    number,
    { readonly weight: DenseWeight; readonly shape: readonly number[] }
  >();

  allocate(id: number, byteLength: number): void {
    this.buffers.set(id, { id, bytes: new ArrayBuffer(byteLength) });
  }

  free(id: number): void {
    this.buffers.delete(id);
  }

  keep(id: number, weight: DenseWeight, shape: readonly number[]): void {
    this.weights.set(id, { weight, shape });
  }

  unload(id: number): void {
    this.weights.delete(id);
  }

  /** Throws BAD_ARGUMENT for what has been freed. */
  buffer(id: number): HostBuffer {
    const buffer = this.buffers.get(id);
    if (!buffer) throw malformed(`there is no buffer ${id}`);
    return buffer;
  }

  bufferBytes(id: number): number {
    return this.buffer(id).bytes.byteLength;
  }

  weight(id: number): DenseWeight {
    const known = this.weights.get(id);
    if (!known) throw malformed(`there is no weight ${id}`);
    return known.weight;
  }

  /** The shape of a weight, which must be `shape`. */
  weightOf(region: number, id: number, shape: readonly number[]): readonly number[] {
    if (region !== regions.weight) throw malformed(`a weight in region ${region}`);
    const known = this.weights.get(id);
    if (known?.shape.join() !== shape.join() || elementCount(shape) !== this.weight(id).values.length)
      throw malformed(`weight ${id} has shape [${known?.shape}], not [${shape}]`);
    return shape;
  }
}
