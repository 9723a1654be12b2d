/** A growing buffer of little-endian values. */
export class ByteWriter {
  private buffer = Buffer.alloc(64 * 1024);
  length = 0;

  u32(value: number): void {
    const at = this.room(4);
    this.buffer.writeUInt32LE(value, at);
  }

  u64(value: number): void {
    const at = this.room(8);
    this.buffer.writeBigUInt64LE(BigInt(value), at);
  }

  /** Length in bytes, then UTF-8. */
  string(value: string): void {
    const bytes = Buffer.byteLength(value);
    this.u64(bytes);
    const at = this.room(bytes);
    this.buffer.write(value, at);
  }

  bytes(value: Uint8Array): void {
    const at = this.room(value.length);
    this.buffer.set(value, at);
  }

  /** Zeros up to a multiple of `alignment`. */
  pad(alignment: number): void {
    const to = Math.ceil(this.length / alignment) * alignment;
    const at = this.room(to - this.length);
    this.buffer.fill(0, at, to);
  }

  /** The bytes written so far. */
  result(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  private room(bytes: number): number {
    const at = this.length;
    this.length += bytes;
    if (this.length > this.buffer.length) {
      const grown = Buffer.alloc(Math.max(this.length, 2 * this.buffer.length));
      grown.set(this.buffer);
      this.buffer = grown;
    }
    return at;
  }
}
