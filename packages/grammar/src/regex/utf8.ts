import { GrammarError } from '../error.js';
import { NOTHING, type Regex, type Regexes } from './regexes.js';

/** Code points from first to second, both included. */
export type Range = readonly [number, number];

const encode = (point: number) => [...new TextEncoder().encode(String.fromCodePoint(point))];
const MAX_RANGES = 2000; // each is an alternative at least
const LENGTH_ENDS = [0x7f, 0x7ff, 0xffff, 0x10ffff];

/** The UTF-8 encodings of all code points in `ranges`; surrogates have none. */
export function utf8(regexes: Regexes, ranges: readonly Range[]): Regex {
  needFewRanges(ranges.length);
  const choices = ranges.flatMap(withoutSurrogates).flatMap(splitByLength);
  return regexes.or(...choices.map(([low, high]) => byteRanges(regexes, encode(low), encode(high))));
}

/** @throws GrammarError TOO_COMPLEX */
export function needFewRanges(count: number): void {
  if (count > MAX_RANGES)
    throw new GrammarError(
      'TOO_COMPLEX',
      '',
      `a set of characters has ${count} ranges; at most ${MAX_RANGES} are compiled`,
    );
}

/** `utf8` that makes equal sets once. */
export function utf8Spelling(regexes: Regexes): (ranges: readonly Range[]) => Regex {
  const known = new Map<string, Regex>();
  return (ranges) => {
    const key = ranges.join();
    const regex = known.get(key) ?? utf8(regexes, ranges);
    known.set(key, regex);
    return regex;
  };
}

function withoutSurrogates([low, high]: Range): Range[] {
  const parts: Range[] = [
    [low, Math.min(high, 0xd7ff)],
    [Math.max(low, 0xe000), high],
  ];
  return parts.filter(([a, b]) => a <= b);
}

function splitByLength([low, high]: Range): Range[] {
  const parts: Range[] = [];
  let start = low;
  for (const end of LENGTH_ENDS)
    if (start <= end && start <= high) {
      parts.push([start, Math.min(end, high)]);
      start = end + 1;
    }
  return parts;
}

/** Byte strings of one length from `low` to `high`, by their first bytes. */
function byteRanges(regexes: Regexes, low: number[], high: number[]): Regex {
  const [first = 0, ...lowRest] = low;
  const [last = 0, ...highRest] = high;
  if (lowRest.length === 0) return regexes.range(first, last);
  const least = lowRest.map(() => 0x80);
  const most = lowRest.map(() => 0xbf);
  if (first === last) return regexes.concat(regexes.byte(first), byteRanges(regexes, lowRest, highRest));
  const lowFull = lowRest.every((byte) => byte === 0x80);
  const highFull = highRest.every((byte) => byte === 0xbf);
  const from = lowFull ? first : first + 1;
  const to = highFull ? last : last - 1;
  const middle =
    from <= to ? regexes.concat(regexes.range(from, to), byteRanges(regexes, least, most)) : NOTHING;
  return regexes.or(
    lowFull ? NOTHING : regexes.concat(regexes.byte(first), byteRanges(regexes, lowRest, most)),
    middle,
    highFull ? NOTHING : regexes.concat(regexes.byte(last), byteRanges(regexes, least, highRest)),
  );
}
