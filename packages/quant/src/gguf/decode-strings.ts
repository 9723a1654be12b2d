import { isUtf8 } from 'node:buffer';
import type { Cooperative } from '@quern/core';

const together = 4096; // strings decoded together: about a millisecond

/**
 * Decodes `count` strings, each a uint64 length and UTF-8; `range` holds exactly these. A vocabulary has hundreds of
 * thousands of short strings: decoding many together and cutting them apart is several times faster than one call per
 * string. Invalid UTF-8 gives U+FFFD in its own string only.
 */
export function* decodeStrings(range: Buffer, count: number): Cooperative<string[]> {
  const strings: string[] = [];
  for (let at = 0; strings.length < count; ) {
    const some = Math.min(together, count - strings.length);
    const end = endOf(range, at, some);
    append(strings, range.subarray(at, end), some);
    at = end;
    yield;
  }
  return strings;
}

/** End of `count` strings that begin at `at`. */
function endOf(range: Buffer, at: number, count: number): number {
  let end = at;
  for (let i = 0; i < count; i++) end += 8 + lengthAt(range, end);
  return end;
}

/** Appends the `count` strings of `range`. */
function append(strings: string[], range: Buffer, count: number): void {
  const joined = Buffer.allocUnsafe(range.length - 8 * count);
  const ends = new Uint32Array(count); // in UTF-16 units of the joined text
  if (!join(range, joined, ends) || !isUtf8(joined)) {
    appendEach(strings, range, count);
    return;
  }
  const text = joined.toString('utf8');
  for (let i = 0, from = 0; i < count; i++) {
    strings.push(text.substring(from, ends[i]!));
    from = ends[i]!;
  }
}

/** Joins the strings' bytes and counts their UTF-16 units. false if a string begins inside a character. */
function join(range: Buffer, joined: Buffer, ends: Uint32Array): boolean {
  let units = 0;
  let to = 0;
  let at = 0;
  for (let i = 0; i < ends.length; i++) {
    const end = at + 8 + lengthAt(range, at);
    at += 8;
    if (at < end && isContinuation(range[at]!)) return false;
    for (; at < end; at++) {
      const byte = range[at]!;
      joined[to++] = byte;
      if (!isContinuation(byte)) units += byte >= 0xf0 ? 2 : 1; // four bytes give a surrogate pair
    }
    ends[i] = units;
  }
  return true;
}

function appendEach(strings: string[], range: Buffer, count: number): void {
  for (let i = 0, at = 0; i < count; i++) {
    const end = at + 8 + lengthAt(range, at);
    strings.push(range.toString('utf8', at + 8, end));
    at = end;
  }
}

/** The length at `at`. The caller knows that it lies within the range, so 32 bits are enough. */
function lengthAt(range: Buffer, at: number): number {
  return (range[at]! | (range[at + 1]! << 8) | (range[at + 2]! << 16) | (range[at + 3]! << 24)) >>> 0;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
