import { GrammarError } from './error.js';
import { Grammar } from './grammar.js';
import { search } from './regex/compile.js';
import { parsePattern } from './regex/parse.js';
import { EMPTY, type Regex, Regexes } from './regex/regexes.js';
import { spellAny } from './regex/spell.js';
import { utf8Spelling } from './regex/utf8.js';
import { DONE, Terms } from './terms/terms.js';
import { atOnce, type Work } from './turns.js';

/**
 * Texts that match an ECMA-262 regular expression from start to end; anchors are not needed. Throws GrammarError: UNSUPPORTED
 * for lookaround, backreferences, word boundaries; INVALID for faults; UNSATISFIABLE if no text matches.
 */
export function compileRegex(source: string | RegExp): Grammar {
  return atOnce(regexWork(source));
}

/** `compileRegex` in parts. */
export function* regexWork(source: string | RegExp): Work<Grammar> {
  if (source instanceof RegExp && /[ims]/.test(source.flags))
    throw new GrammarError(
      'UNSUPPORTED',
      `flags ${source.flags}`,
      'the flags i, m, s cannot be enforced; write the pattern without them',
    );
  const text = typeof source === 'string' ? source : source.source;
  const regexes = new Regexes();
  const pattern = yield* parsePattern(text);
  return yield* grammarOf(regexes, yield* search(regexes, pattern, utf8Spelling(regexes), EMPTY));
}

/** One of `choices`, exactly. Throws INVALID if there is none, or an empty one. */
export function compileChoices(choices: readonly string[]): Grammar {
  return atOnce(choicesWork(choices));
}

const MAX_CHOICES = 20_000;

/** `compileChoices` in parts. */
export function* choicesWork(choices: readonly string[]): Work<Grammar> {
  if (choices.length > MAX_CHOICES)
    throw new GrammarError('TOO_COMPLEX', 'choices', `${choices.length} texts; the bound is ${MAX_CHOICES}`);
  if (choices.length === 0 || choices.some((choice) => typeof choice !== 'string' || choice === ''))
    throw new GrammarError('INVALID', 'choices', 'must be at least one text, and no empty one');
  const broken = choices.find((choice) => /\p{Surrogate}/u.test(choice));
  if (broken !== undefined)
    throw new GrammarError(
      'INVALID',
      'choices',
      `${JSON.stringify(broken)} holds half a character (a surrogate without its partner), which no text can hold`,
    );
  const regexes = new Regexes();
  return yield* grammarOf(regexes, yield* spellAny(regexes, choices));
}

function* grammarOf(regexes: Regexes, regex: Regex): Work<Grammar> {
  const terms = new Terms(regexes);
  if (yield* terms.emptiness.decide(regex))
    throw new GrammarError('UNSATISFIABLE', '', 'no text matches the regular expression');
  return yield* Grammar.make(terms, terms.match(regex, DONE));
}
