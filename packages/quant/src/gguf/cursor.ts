import type { Cooperative } from '@quern/core';
import { FileError, type FileErrorCode } from '../error.js';

/** Maximum header bytes. A vocabulary of 262 144 tokens with its merges takes about 16 MB. */
export const maxHeaderBytes = 128 * 1024 * 1024;

const stringsOfPart = 8192;

/** Thrown if the header is longer than the bytes read so far, but not longer than the file. */
export class MoreBytesNeeded extends Error {
  constructor(readonly upTo: number) {
    super(`the header goes on to byte ${upTo} at least`);
  }
}

/** Reads consecutive little-endian values. Never allocates more than the file can hold. */
export class Cursor {
  /** What is being read, for messages. */
  reading = 'the header';
  position = 0;
  private readonly buffer: Buffer;
  private readonly view: DataView;

  /**
   * @param bytes the beginning of the file
   * @param fileSize the whole file's size in bytes, at least `bytes.length`
   */
  constructor(
    bytes: Uint8Array,
    readonly fileSize: number,
    readonly path: string,
  ) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  fail(code: FileErrorCode, detail: string): never {
    throw new FileError(code, this.path, detail);
  }

  /** Refuses a count over `most`, and a count of items of at least `least` bytes that exceeds the rest of the file. */
  checkCount(count: number, least: number, most: number, things: string): void {
    const left = this.fileSize - this.position;
    if (count * least > left) {
      const announced = `announces ${count} ${things} in ${this.reading}`;
      this.fail('TRUNCATED', `${announced}, but only ${left} bytes follow: ${incomplete}`);
    }
    if (count > most) {
      this.fail('TOO_LARGE', `announces ${count} ${things} in ${this.reading}; the limit is ${most}`);
    }
  }

  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  /** A uint64 as the nearest number: exact up to 2^53. Every valid count, length and offset is smaller. */
  u64(): number {
    const at = this.take(8);
    return this.view.getUint32(at, true) + this.view.getUint32(at + 4, true) * 2 ** 32;
  }

  string(maxBytes: number): string {
    const length = this.u64();
    if (length > maxBytes) {
      this.fail('TOO_LARGE', `${this.reading} is ${length} bytes long; the limit is ${maxBytes}`);
    }
    const at = this.take(length);
    return this.buffer.toString('utf8', at, at + length);
  }

  /** The bytes of the next `count` strings, each with a length prefix. */
  *strings(count: number): Cooperative<Buffer> {
    const start = this.position;
    for (let i = 0; i < count; i++) {
      this.take(this.u64());
      if (i % stringsOfPart === 0) yield;
    }
    return this.buffer.subarray(start, this.position);
  }

  /** A copy of the next `length` bytes, aligned for any typed array. */
  bytes(length: number): Uint8Array<ArrayBuffer> {
    const at = this.take(length);
    return new Uint8Array(this.buffer.subarray(at, at + length));
  }

  /** Skips `length` bytes and returns their start. */
  take(length: number): number {
    const at = this.position;
    const end = at + length;
    if (end > this.buffer.length) this.refuse(length, end);
    this.position = end;
    return at;
  }

  private refuse(length: number, end: number): never {
    if (end > this.fileSize) {
      const left = this.fileSize - this.position;
      const needs = `${this.reading} needs ${length} more bytes at byte ${this.position}`;
      this.fail('TRUNCATED', `${needs}; ${left} are left: ${incomplete}`);
    }
    if (end > maxHeaderBytes) {
      this.fail('TOO_LARGE', `its header goes on beyond ${maxHeaderBytes} bytes (in ${this.reading})`);
    }
    throw new MoreBytesNeeded(end);
  }
}

const incomplete = 'the file is incomplete or damaged; fetch it again';
