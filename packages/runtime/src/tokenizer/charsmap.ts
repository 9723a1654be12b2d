import type { Cooperative } from '@quern/core';
import { badVocabulary } from './error.js';

const utf8 = new TextEncoder();
/** Bytes between two pauses. */
const BYTES_OF_PART = 8192;
const LEAF = 1 << 8;
const WIDE = 1 << 9;
/** NFKC tables match at most 12 bytes and write at most 33. The limit stops tables with loops. */
const LONGEST_MATCH = 256;
const LONGEST_REPLACEMENT = 1024;
const LABEL = 0x800000ff; // bit 31 marks values, not labels

/**
 * SentencePiece's precompiled normaliser (NFKC and similar): a trie over UTF-8 bytes, stored as a darts-clone double
 * array. It maps the longest matching prefix to its replacement.
 *
 * Layout: u32 byte length of the double array; the array of u32; NUL-terminated replacements, found by offset.
 */
export class Charsmap {
  private readonly units: Uint32Array;
  private readonly replacements: Uint8Array;

  /** @throws TokenizerError BAD_VOCABULARY */
  constructor(blob: Uint8Array) {
    const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
    const bytes = blob.length >= 4 ? view.getUint32(0, true) : blob.length;
    if (bytes % 4 !== 0 || 4 + bytes > blob.length) {
      throw badVocabulary(
        `the normaliser (precompiled_charsmap) says its table has ${bytes} bytes, but it is ${blob.length} bytes long in all`,
      );
    }
    this.units = Uint32Array.from({ length: bytes / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    this.replacements = blob.subarray(4 + bytes);
  }

  *normalize(text: string): Cooperative<string> {
    const input = utf8.encode(text);
    const out: number[] = [];
    let pause = BYTES_OF_PART;
    for (let at = 0; at < input.length; ) {
      if (at >= pause) {
        yield;
        pause += BYTES_OF_PART;
      }
      const match = this.match(input, at, false);
      if (match) this.appendReplacement(match.value, out);
      const length = match?.length ?? characterLength(input[at]!);
      if (!match) for (const byte of input.subarray(at, at + length)) out.push(byte);
      at += length;
    }
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(out));
  }

  /** The replacement of the shortest entry that is a prefix of `text`. */
  replacement(text: string): string | undefined {
    const match = this.match(utf8.encode(text), 0, true);
    if (!match) return undefined;
    const out: number[] = [];
    this.appendReplacement(match.value, out);
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(out));
  }

  private match(
    input: Uint8Array,
    start: number,
    isShortest: boolean,
  ): { length: number; value: number } | undefined {
    let best: { length: number; value: number } | undefined;
    let node = this.offset(0);
    const end = Math.min(input.length, start + LONGEST_MATCH);
    for (let at = start; at < end; at++) {
      const byte = input[at]!;
      node ^= byte;
      const unit = this.unit(node);
      if (byte === 0 || (unit & LABEL) >>> 0 !== byte) break;
      node ^= this.offset(node);
      if (unit & LEAF) best = { length: at - start + 1, value: this.unit(node) & 0x7fffffff };
      if (best && isShortest) break;
    }
    return best;
  }

  private offset(node: number): number {
    const unit = this.unit(node);
    return (unit >>> 10) << ((unit & WIDE) >>> 6);
  }

  private unit(node: number): number {
    return this.units[node] ?? 0x80000000; // outside the table: matches nothing
  }

  private appendReplacement(start: number, out: number[]): void {
    for (let at = start; at < this.replacements.length && this.replacements[at] !== 0; at++) {
      if (at - start === LONGEST_REPLACEMENT)
        throw badVocabulary(
          `the normaliser (precompiled_charsmap) has a replacement of more than ${LONGEST_REPLACEMENT} bytes`,
        );
      out.push(this.replacements[at]!);
    }
  }
}

const characterLength = (lead: number) => (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);
