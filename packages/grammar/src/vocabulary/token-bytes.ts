/** Texts of tokens by their ids: an array, or an object that makes them when asked. */
export interface TokenTexts {
  readonly length: number;
  /** The bytes of a token below `length`. */
  at(token: number): Uint8Array | undefined;
}

/** The bytes of all tokens in one buffer: 150,000 arrays hold the event loop 100 ms when garbage is collected. */
export class TokenBytes {
  private readonly starts: Int32Array; // [tokens + 1]
  private bytes = new Uint8Array(1 << 16);
  private tokens = 0;

  /** @param capacity most tokens */
  constructor(capacity: number) {
    this.starts = new Int32Array(capacity + 1);
  }

  /** Bytes of all tokens. */
  get total(): number {
    return this.starts[this.tokens] as number;
  }

  add(text: Uint8Array): void {
    const { total } = this;
    const end = total + text.length;
    if (end > this.bytes.length) this.grow(end);
    this.bytes.set(text, total);
    this.starts[++this.tokens] = end;
  }

  /** A view of the bytes of a token. */
  of(token: number): Uint8Array {
    return this.bytes.subarray(this.starts[token], this.starts[token + 1]);
  }

  /** Byte `i` of a token; undefined past its end. */
  byteOf(token: number, i: number): number | undefined {
    const at = (this.starts[token] as number) + i;
    return at < (this.starts[token + 1] as number) ? this.bytes[at] : undefined;
  }

  /** < 0: token `a` is before `b`, by bytes; 0: they are equal. */
  compare(a: number, b: number): number {
    const { bytes, starts } = this;
    const end = starts[a + 1] as number;
    const endOfB = starts[b + 1] as number;
    let [at, atB] = [starts[a] as number, starts[b] as number];
    while (at < end && atB < endOfB) {
      const difference = (bytes[at++] as number) - (bytes[atB++] as number);
      if (difference !== 0) return difference;
    }
    return end - at - (endOfB - atB);
  }

  private grow(least: number): void {
    const bytes = new Uint8Array(Math.max(least, 2 * this.bytes.length));
    bytes.set(this.bytes);
    this.bytes = bytes;
  }
}
