import type { DenseWeight } from '@quern/backend-reference';
import {
  BackendError,
  type ByteRange,
  elementCount,
  type HostBuffer,
  type KvSpec,
  regions,
  type WeightFormat,
} from '@quern/core';
import { reordered } from '../../heads-first.js';
import type { Piece } from '../protocol.js';

const malformed = (message: string) => new BackendError('BAD_ARGUMENT', `the plan is malformed: ${message}`);

/** A weight as f32; `format` is that of the file. */
interface Kept {
  readonly weight: DenseWeight;
  readonly shape: readonly number[];
  readonly format: WeightFormat;
}

/** Everything that the device holds, by the ids that plans name. */
export class DeviceMemory {
  private readonly buffers = new Map<number, HostBuffer>();
  private readonly caches = new Map<number, KvSpec>();
  private readonly weights = new Map<number, Kept>();

  allocate(id: number, byteLength: number, spec: KvSpec | undefined): void {
    this.buffers.set(id, { id, bytes: new ArrayBuffer(byteLength) });
    if (spec) this.caches.set(id, spec);
  }

  free(id: number): void {
    this.buffers.delete(id);
    this.caches.delete(id);
  }

  /** Of a cache, which lies heads first. */
  cacheSpec(id: number): KvSpec | undefined {
    return this.caches.get(id);
  }

  write(id: number, { from, bytes }: Piece): void {
    const spec = this.caches.get(id);
    new Uint8Array(this.buffer(id).bytes).set(spec ? reordered(bytes, spec, 'to own') : bytes, from);
  }

  read(id: number, { from, to }: ByteRange): Uint8Array {
    const spec = this.caches.get(id);
    const bytes = new Uint8Array(this.buffer(id).bytes).slice(from, to);
    return spec ? reordered(bytes, spec, 'to canonical') : bytes;
  }

  keep(id: number, kept: Kept): void {
    this.weights.set(id, kept);
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

  weight(id: number): Kept {
    const known = this.weights.get(id);
    if (!known) throw malformed(`there is no weight ${id}`);
    return known;
  }

  /** The shape of a weight, which must be `shape`. */
  weightOf(region: number, id: number, shape: readonly number[]): readonly number[] {
    if (region !== regions.weight) throw malformed(`a weight in region ${region}`);
    const known = this.weight(id);
    if (known.shape.join() !== shape.join() || elementCount(shape) !== known.weight.values.length)
      throw malformed(`weight ${id} has shape [${known.shape}], not [${shape}]`);
    return shape;
  }
}
