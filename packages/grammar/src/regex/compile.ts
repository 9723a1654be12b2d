import { GrammarError } from '../error.js';
import type { Work } from '../turns.js';
import type { Pattern } from './parse.js';
import { EMPTY, type Regex, type Regexes } from './regexes.js';
import type { Range } from './utf8.js';

/** How characters are written as bytes: plain UTF-8, or inside a JSON string. */
export type Spelling = (ranges: readonly Range[]) => Regex;

/**
 * The expression for whole texts in which `pattern` matches somewhere, as RegExp.test does. `any`: any one character.
 * Anchors may stand only at the ends of an alternative of the whole pattern.
 */
export function* search(regexes: Regexes, pattern: Pattern, spell: Spelling, any: Regex): Work<Regex> {
  const fill = regexes.many(any);
  const alternatives: Regex[] = [];
  for (const parts of topAlternatives(pattern)) {
    const anchoredStart = parts[0]?.kind === 'start';
    const anchoredEnd = parts.length > 0 && parts.at(-1)?.kind === 'end';
    const inner = parts.slice(anchoredStart ? 1 : 0, anchoredEnd ? parts.length - 1 : parts.length);
    const body = yield* each(regexes, inner, spell);
    alternatives.push(
      yield* regexes.inSequence([anchoredStart ? EMPTY : fill, ...body, anchoredEnd ? EMPTY : fill]),
    );
  }
  return regexes.or(...alternatives);
}

const PART = 8; // characters and groups: a fraction of a millisecond

function* each(regexes: Regexes, parts: readonly Pattern[], spell: Spelling): Work<Regex[]> {
  const found: Regex[] = [];
  for (const part of parts) {
    found.push(yield* whole(regexes, part, spell));
    if (found.length % PART === 0) yield;
  }
  return found;
}

/** The expression for texts that `pattern` matches from start to end. */
export function* whole(regexes: Regexes, pattern: Pattern, spell: Spelling): Work<Regex> {
  switch (pattern.kind) {
    case 'set':
      return spell(pattern.ranges);
    case 'sequence':
      return yield* regexes.inSequence(yield* each(regexes, pattern.parts, spell));
    case 'choice':
      return regexes.or(...(yield* each(regexes, pattern.parts, spell)));
    case 'repeat':
      return regexes.repeat(yield* whole(regexes, pattern.part, spell), pattern.min, pattern.max);
    default:
      throw new GrammarError(
        'UNSUPPORTED',
        '',
        'in the regular expression: an anchor (^ or $) inside a pattern cannot be enforced; put it at an end',
      );
  }
}

/** The alternatives of a pattern as sequences; `^(a|b)$` is one, `^a|b$` two, `(^a|b$)` two. */
function topAlternatives(pattern: Pattern): (readonly Pattern[])[] {
  if (pattern.kind === 'choice') return pattern.parts.flatMap(topAlternatives);
  if (pattern.kind !== 'sequence') return [[pattern]];
  const [only] = pattern.parts;
  if (pattern.parts.length === 1 && (only?.kind === 'choice' || only?.kind === 'sequence'))
    return topAlternatives(only);
  return [pattern.parts];
}
