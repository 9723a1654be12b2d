import { badVocabulary } from '../error.js';
import type { Fields } from './fields.js';
import { guarded } from './guard.js';
import { KNOWN_PATTERNS } from './known-patterns.js';
import { fromOniguruma } from './oniguruma.js';

/** Finds matches in a text, from left to right. */
export type Pattern = (text: string) => Iterable<readonly [start: number, end: number]>;

/** A built-in regular expression: its backtracking is bounded. */
export function patternOf(expression: RegExp): Pattern {
  return function* (text) {
    for (const match of text.matchAll(expression)) yield [match.index, match.index + match[0].length];
  };
}

/** Matches a string literally. */
export function literal(searched: string): Pattern {
  return function* (text) {
    if (searched === '') yield* boundaries(text);
    else
      for (let at = text.indexOf(searched); at >= 0; at = text.indexOf(searched, at + searched.length))
        yield [at, at + searched.length];
  };
}

/** The empty string matches between all characters and at both ends. */
function* boundaries(text: string): Generator<[number, number], void> {
  let at = 0;
  for (const character of text) {
    yield [at, at];
    at += character.length;
  }
  yield [at, at];
}

/** `{"String": "…"}` or `{"Regex": "…"}`; Regex has Oniguruma's syntax. */
export function patternField(fields: Fields): Pattern {
  const pattern = fields.object('pattern');
  if (pattern.json.String !== undefined) return literal(pattern.string('String'));
  const source = pattern.string('Regex');
  const known = KNOWN_PATTERNS.get(source);
  return known ? patternOf(known) : foreign(source, pattern.where);
}

/** A regular expression from a file. Its backtracking may be unbounded: it runs with a time limit. */
function foreign(source: string, where: string): Pattern {
  const expression = compile(source, where);
  return function* (text) {
    let from = 0;
    for (let last = -1; from <= text.length; ) {
      const found = nextMatches(expression, source, text, from);
      for (const [start, end] of found.places) {
        if (start === end && start === last) continue; // as in Oniguruma: no empty match directly after another match
        last = end;
        yield [start, end];
      }
      if (found.next === undefined) return;
      from = found.next;
    }
  };
}

const MATCHES_OF_PART = 256;

/** A batch of matches, and where to continue. */
function nextMatches(expression: RegExp, source: string, text: string, from: number) {
  const places: [number, number][] = [];
  let next: number | undefined = from;
  guarded(source, text.length, () => {
    while (next !== undefined && places.length < MATCHES_OF_PART) {
      expression.lastIndex = next;
      const match = expression.exec(text);
      if (match) places.push([match.index, match.index + match[0].length]);
      next = match ? afterMatch(text, match) : undefined;
    }
  });
  return { places, next };
}

/** The position after a match; after an empty match, one whole character further. */
function afterMatch(text: string, { index, 0: { length } }: RegExpExecArray): number {
  return length > 0 ? index + length : index + ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1);
}

const LONGEST_PATTERN = 1 << 16;

function compile(source: string, where: string): RegExp {
  const shown = source.slice(0, 100);
  if (source.length > LONGEST_PATTERN)
    throw badVocabulary(
      `tokenizer.json: ${where}.Regex has ${source.length} characters; at most ${LONGEST_PATTERN} can be used: ${shown}…`,
    );
  try {
    return fromOniguruma(source);
  } catch (cause) {
    throw badVocabulary(
      `tokenizer.json: ${where}.Regex cannot be used: ${cause instanceof Error ? cause.message : String(cause)}: ${shown}`,
    );
  }
}
