/** Device memory. `id` is the driver's own whole number (≥ 0), unique among live buffers; encoded plans name the buffer by it. */
export interface DriverBuffer {
  readonly id: number;
}

/** A loaded weight. `id` as for buffers, numbered apart from them; `byteLength` is what it takes on the device. */
export interface DriverWeight {
  readonly id: number;
  readonly byteLength: number;
}

/** Allocate/free/read/write. Offsets and lengths in bytes; core never asks outside a buffer. */
export interface DriverMemory<B extends DriverBuffer = DriverBuffer> {
  /** A zeroed buffer, at once; `byteLength` may be 0. Throws BackendError OUT_OF_MEMORY, with the bytes asked for and free. */
  allocate(byteLength: number): B;
  /** Called once per buffer, never while a plan runs. */
  free(buffer: B): void;
  /** `bytes` is the caller's again once the promise resolves. */
  write(buffer: B, byteOffset: number, bytes: Uint8Array): Promise<void>;
  /** Fills `bytes`. */
  read(buffer: B, byteOffset: number, bytes: Uint8Array): Promise<void>;
}
