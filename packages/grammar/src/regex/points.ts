import { atOnce, type Work } from '../turns.js';
import type { Range } from './utf8.js';

export const MAX_POINT = 0x10ffff;
export const DIGITS: Range[] = [[0x30, 0x39]];
export const WORD: Range[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
/** ECMA-262, WhiteSpace and LineTerminator. */
export const SPACE: Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
export const LINE_ENDS: Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

/** Sorted, without overlaps. */
export function normalise(ranges: readonly Range[]): Range[] {
  const merged: [number, number][] = [];
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else merged.push([low, high]);
  }
  return merged;
}

export function complement(ranges: readonly Range[]): Range[] {
  const gaps: Range[] = [];
  let next = 0;
  for (const [low, high] of normalise(ranges)) {
    if (next < low) gaps.push([next, low - 1]);
    next = high + 1;
  }
  if (next <= MAX_POINT) gaps.push([next, MAX_POINT]);
  return gaps;
}

const properties = new Map<string, Range[]>();

const BLOCK = 4096; // code points: a fraction of a millisecond

/** The code points of \\p{name}. Throws SyntaxError for unknown names. */
export function property(name: string): Range[] {
  const found = properties.get(name) ?? atOnce(findProperty(name));
  if (!found) new RegExp(`\\p{${name}}`, 'u'); // throws
  return found ?? [];
}

const complements = new Map<string, Range[]>();

/** The code points of \\P{name}. Throws SyntaxError for unknown names. */
export function notProperty(name: string): Range[] {
  const found = complements.get(name) ?? complement(property(name));
  complements.set(name, found);
  return found;
}

/** Asks the JavaScript engine's own tables, in parts; undefined for unknown names. */
export function* findProperty(name: string): Work<Range[] | undefined> {
  const known = properties.get(name);
  if (known) return known;
  const runs = expression(name);
  if (!runs) return undefined;
  const ranges: Range[] = [];
  for (let first = 0; first <= MAX_POINT; first += BLOCK) {
    const points = Array.from({ length: BLOCK }, (_, i) => first + i).filter((point) => !isSurrogate(point));
    const text = String.fromCodePoint(...points);
    for (const { index, 0: run } of text.matchAll(runs)) {
      const low = text.codePointAt(index) as number;
      ranges.push([low, low + [...run].length - 1]);
    }
    yield;
  }
  const merged = normalise(ranges);
  properties.set(name, merged);
  return merged;
}

function expression(name: string): RegExp | undefined {
  try {
    return new RegExp(`\\p{${name}}+`, 'gu');
  } catch {
    return undefined;
  }
}

const isSurrogate = (point: number): boolean => point >= 0xd800 && point <= 0xdfff;
