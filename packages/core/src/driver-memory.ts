/** Device memory. `id`: the driver's own whole number (≥ 0), unique among live buffers; encoded plans refer to it. */
export interface DriverBuffer {
  readonly id: number;
}

/** A loaded weight. `id` as for buffers, numbered separately. `byteLength`: bytes on the device. */
export interface DriverWeight {
  readonly id: number;
  readonly byteLength: number;
}

/** Allocate/free/read/write. Offsets and lengths in bytes; core never accesses bytes outside a buffer. */
export interface DriverMemory<B extends DriverBuffer = DriverBuffer> {
  /** A zeroed buffer, synchronously; `byteLength` may be 0. Throws BackendError OUT_OF_MEMORY, with requested and free bytes. */
  allocate(byteLength: number): B;
  /** Called once per buffer, never while a plan runs. */
  free(buffer: B): void;
  /** The driver may read `bytes` until the promise resolves. */
  write(buffer: B, byteOffset: number, bytes: Uint8Array): Promise<void>;
  /** Fills `bytes`. */
  read(buffer: B, byteOffset: number, bytes: Uint8Array): Promise<void>;
}
