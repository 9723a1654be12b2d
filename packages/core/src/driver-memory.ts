/** Device memory. `id` is the driver's own whole number (≥ 0); encoded plans refer to the buffer by `id`. */
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
  /** A zeroed buffer. Throws BackendError OUT_OF_MEMORY, with the bytes asked for and free. */
  allocate(byteLength: number): B;
  free(buffer: B): void;
  write(buffer: B, byteOffset: number, bytes: Uint8Array): Promise<void>;
  /** Fills `bytes`. */
  read(buffer: B, byteOffset: number, bytes: Uint8Array): Promise<void>;
}
