import { complement, MAX_POINT, SPACE } from '../regex/points.js';
import { EMPTY, NOTHING, type Regex, Regexes } from '../regex/regexes.js';
import { utf8 } from '../regex/utf8.js';
import type { Effort, Work } from '../turns.js';

/**
 * A set of groups of characters, one bit each. Loops of expressions accept whole groups (letters, digits, ...): whether a
 * token fits in a loop is told by its kinds.
 */
export type Kinds = number;

const GROUPS = [
  ...['0123456789', 'abcdef', 'ghijklmnopqrstuvwxyz', 'ABCDEF', 'GHIJKLMNOPQRSTUVWXYZ'],
  ..." _-./:@+#,;=&?%!*'",
  ...['()[]{}', '<>|^`~$', '\x7f'],
];
const SPACES: Kinds = 1 << GROUPS.length; // white space outside ASCII, as \s has it
const FOREIGN: Kinds = SPACES << 1; // all other characters outside ASCII
/** Bytes that need an escape in a JSON string, or are no whole character. In no loop. */
export const OTHER: Kinds = FOREIGN << 1;
export const ALL: Kinds = OTHER - 1;

const groupBytes = GROUPS.map((chars) => [...chars].map((char) => char.charCodeAt(0)));
const ofAscii = Uint32Array.from({ length: 128 }, (_, byte) => {
  const group = groupBytes.findIndex((bytes) => bytes.includes(byte));
  return group < 0 ? OTHER : 1 << group;
});

const foreignSpaces = SPACE.filter(([low]) => low > 0x7f);
const foreignOthers = complement([[0, 0x7f], ...foreignSpaces]);

/** What follows from each byte of a text on. */
export interface Suffixes {
  /** [bytes + 1] the kinds of the rest; OTHER from within a character on. */
  readonly kinds: Kinds[];
  /** [bytes + 1] the characters of the rest. */
  readonly lengths: number[];
}

export function suffixesOf(bytes: Uint8Array): Suffixes {
  const kinds: Kinds[] = [...new Array<Kinds>(bytes.length).fill(OTHER), 0];
  const lengths: number[] = new Array<number>(bytes.length + 1).fill(0);
  for (let end = bytes.length; end > 0; ) {
    let start = end - 1;
    while (start > 0 && ((bytes[start] as number) & 0xc0) === 0x80) start--;
    kinds[start] = (kinds[end] as Kinds) | kindOf(bytes, start, end);
    lengths.fill((lengths[end] as number) + 1, start, end);
    end = start;
  }
  return { kinds, lengths };
}

/** The kind of the bytes from `start` to `end`, of which only the first may begin a character. */
function kindOf(bytes: Uint8Array, start: number, end: number): Kinds {
  if (end === start + 1) return ofAscii[bytes[start] as number] ?? OTHER;
  const point = pointOf(bytes, start, end);
  if (point === undefined) return OTHER;
  return foreignSpaces.some(([low, high]) => low <= point && point <= high) ? SPACES : FOREIGN;
}

const LEAST_POINT = [0, 0, 0x80, 0x800, 0x10000]; // by bytes

/** The code point of a character of several bytes; undefined if they are not UTF-8. */
function pointOf(bytes: Uint8Array, start: number, end: number): number | undefined {
  const length = end - start;
  const lead = bytes[start] as number;
  if (length > 4 || lead >>> (7 - length) !== (2 << length) - 2) return undefined;
  let point = lead & (0x7f >>> length);
  for (let at = start + 1; at < end; at++) point = (point << 6) | ((bytes[at] as number) & 0x3f);
  const isSurrogate = point >= 0xd800 && point < 0xe000;
  return point < (LEAST_POINT[length] as number) || point > MAX_POINT || isSurrogate ? undefined : point;
}

/** Where bytes lead. */
export interface Steps {
  /** 0 where a byte cannot follow; -1 where `search` has to come first. */
  shortStep(from: number, byte: number): number;
  search(from: number, byte: number): Work<number>;
  /** What steps cost. */
  readonly effort: Effort;
}

/** The kinds all of whose characters lead from `from` to `to`; in parts. */
export function* kindsBetween(from: number, to: number, steps: Steps): Work<Kinds> {
  let kinds = 0;
  for (let group = 0; group < groupBytes.length; group++) {
    let leads = true;
    for (const byte of groupBytes[group] as readonly number[]) {
      let next = steps.shortStep(from, byte);
      while (next < 0) {
        yield* steps.search(from, byte); // another mask of the grammar may leave more to decide meanwhile
        next = steps.shortStep(from, byte);
      }
      if (steps.effort.endsPart()) yield;
      leads = next === to;
      if (!leads) break;
    }
    if (leads) kinds |= 1 << group;
  }
  if (kinds === 0) return 0;
  foreign ??= foreignCharacters();
  if (yield* lead(foreign.regexes, foreign.spaces, from, to, steps)) kinds |= SPACES;
  if (yield* lead(foreign.regexes, foreign.others, from, to, steps)) kinds |= FOREIGN;
  return kinds;
}

let foreign: ReturnType<typeof foreignCharacters> | undefined;

/** The characters outside ASCII as expressions of their own: they serve the automata of all grammars. */
function foreignCharacters() {
  const regexes = new Regexes();
  return { regexes, spaces: utf8(regexes, foreignSpaces), others: utf8(regexes, foreignOthers) };
}

/** True if every text of `chars` leads from `from` to `to`; in parts. */
function* lead(regexes: Regexes, chars: Regex, from: number, to: number, steps: Steps): Work<boolean> {
  const seen = new Set<string>();
  const open = [[chars, from] as const];
  for (let at = open.pop(); at; at = open.pop()) {
    let [rest, state] = [NOTHING, 0]; // after the byte before
    for (let byte = 0x80; byte < 0xf5; byte++) {
      const nextRest = regexes.derive(at[0], byte);
      let nextState = nextRest === NOTHING ? 0 : steps.shortStep(at[1], byte);
      if (nextState < 0) {
        yield* steps.search(at[1], byte);
        nextState = steps.shortStep(at[1], byte);
      }
      if (steps.effort.endsPart() || regexes.effort.endsPart()) yield;
      if (nextRest === rest && nextState === state) continue;
      rest = nextRest;
      state = nextState;
      if (rest === NOTHING) continue;
      if (rest === EMPTY ? state !== to : state === 0) return false;
      if (rest === EMPTY || seen.has(`${rest},${state}`)) continue;
      seen.add(`${rest},${state}`);
      open.push([rest, state]);
    }
  }
  return true;
}
