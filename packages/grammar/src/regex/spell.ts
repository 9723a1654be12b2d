import { GrammarError } from '../error.js';
import type { Work } from '../turns.js';
import { EMPTY, NOTHING, type Regex, type Regexes } from './regexes.js';

const MAX_TEXT = 262_144; // bytes
const MAX_BRANCHES = 64; // of texts with common prefixes: deeper expressions could exhaust the stack
const PART = 256; // bytes of a text: a fraction of a millisecond

/** The UTF-8 bytes of `text`, then `tail`; in parts. */
export function* spell(regexes: Regexes, text: string, tail: Regex = EMPTY): Work<Regex> {
  return yield* spellBytes(regexes, encode(text), 0, tail);
}

/** Any of `texts`, in parts. Common prefixes are spelled once: few expressions are alternatives at one place. */
export function* spellAny(regexes: Regexes, texts: readonly string[]): Work<Regex> {
  const all: Uint8Array[] = [];
  for (const text of new Set(texts)) {
    all.push(encode(text));
    if (all.length % PART === 0) yield;
  }
  return all.length === 0 ? NOTHING : yield* branches(regexes, all, 0, 0);
}

/** Any of the bytes of `texts` from `at` on; they are alike before. */
function* branches(regexes: Regexes, texts: readonly Uint8Array[], at: number, level: number): Work<Regex> {
  const [first] = texts as readonly [Uint8Array];
  if (texts.length === 1) return yield* spellBytes(regexes, first, at, EMPTY);
  const groups = new Map<number | undefined, Uint8Array[]>();
  const end = endOfCommon(texts, at);
  for (const text of texts) {
    const group = groups.get(text[end]);
    if (group) group.push(text);
    else groups.set(text[end], [text]);
  }
  const each: Regex[] = [];
  for (const group of level < MAX_BRANCHES ? groups.values() : texts.map((text) => [text])) {
    each.push(yield* branches(regexes, group, end, level + 1));
    yield;
  }
  return yield* spellBytes(regexes, first.subarray(0, end), at, regexes.or(...each));
}

function* spellBytes(regexes: Regexes, bytes: Uint8Array, from: number, tail: Regex): Work<Regex> {
  let regex = tail;
  for (let i = bytes.length - 1; i >= from; i--) {
    regex = regexes.concat(regexes.byte(bytes[i] as number), regex);
    if (i % PART === 0 && i > from) yield;
  }
  return regex;
}

/** @throws GrammarError TOO_COMPLEX */
function encode(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  if (bytes.length <= MAX_TEXT) return bytes;
  throw new GrammarError(
    'TOO_COMPLEX',
    '',
    `a text of ${bytes.length} bytes; at most ${MAX_TEXT} are compiled`,
  );
}

const encoder = new TextEncoder();

/** How far texts are alike. */
function endOfCommon(texts: readonly Uint8Array[], from: number): number {
  const [first] = texts as readonly [Uint8Array];
  let end = first.length;
  for (const text of texts) {
    let at = from;
    while (at < end && text[at] === first[at]) at++;
    end = at;
  }
  return end;
}
