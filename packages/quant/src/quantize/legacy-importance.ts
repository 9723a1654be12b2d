import { QuantizeError } from './error.js';
import type { ImportanceMatrix } from './importance.js';

const longestName = 256;
const mostEntries = 2 ** 17;

/** Reads little-endian values. Refuses to read beyond the end. */
class Reader {
  private at = 0;
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly path: string,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get atEnd(): boolean {
    return this.at === this.bytes.length;
  }

  fail(detail: string): never {
    throw new QuantizeError(
      'BAD_IMPORTANCE',
      `${this.path}: is not an importance matrix, or is cut off: ${detail}`,
    );
  }

  /** An int32 from 0 to `most`. */
  count(what: string, most: number): number {
    const value = this.view.getInt32(this.take(4, what), true);
    return value >= 0 && value <= most ? value : this.fail(`${what} is ${value}; expected 0 to ${most}`);
  }

  text(length: number, what: string): string {
    const at = this.take(length, what);
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + at, length).toString('utf8');
  }

  floats(count: number, what: string): Float32Array {
    const at = this.take(4 * count, what);
    return Float32Array.from({ length: count }, (_, i) => this.view.getFloat32(at + 4 * i, true));
  }

  private take(length: number, what: string): number {
    if (this.at + length > this.bytes.length)
      this.fail(`${what} takes ${length} bytes, but ${this.bytes.length - this.at} are left`);
    this.at += length;
    return this.at - length;
  }
}

/**
 * Parses llama.cpp's .dat file. Layout: int32 entries; per entry int32 length and name, int32 calls, int32 values,
 * float32 means times calls; in newer files then int32 chunks, int32 length and name of the text.
 * @throws QuantizeError BAD_IMPORTANCE.
 */
export function parseLegacyImportance(bytes: Uint8Array, path: string): ImportanceMatrix {
  const reader = new Reader(bytes, path);
  const count = reader.count('the number of entries', mostEntries);
  if (count === 0) reader.fail('it has no entries');
  const entries = new Map<string, Float32Array>();
  for (let i = 0; i < count; i++) {
    const name = reader.text(reader.count(`the length of name ${i}`, longestName), `name ${i}`);
    const calls = reader.count(`the calls of '${name}'`, 2 ** 31 - 1);
    const values = reader.floats(reader.count(`the values of '${name}'`, 2 ** 31 - 1), `'${name}'`);
    entries.set(name, calls > 0 ? values.map((value) => value / calls) : values);
  }
  if (reader.atEnd) return { path, entries };
  const chunks = reader.count('the number of chunks', 2 ** 31 - 1);
  const dataset = reader.text(
    reader.count('the length of the name of the text', 2 ** 16),
    'the name of the text',
  );
  return { path, entries, chunks, dataset };
}
