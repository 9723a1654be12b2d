import { GrammarError } from './error.js';
import { Grammar } from './grammar.js';
import { search } from './regex/compile.js';
import { Emptiness } from './regex/empty.js';
import { parsePattern } from './regex/parse.js';
import { EMPTY, type Regex, Regexes } from './regex/regexes.js';
import { type Range, utf8 } from './regex/utf8.js';
import { DONE, Terms } from './terms/terms.js';

/**
 * Texts that match an ECMA-262 regular expression from start to end; anchors are not needed. Throws GrammarError: UNSUPPORTED
 * for lookaround, backreferences, word boundaries; INVALID for faults; UNSATISFIABLE if no text matches.
 */
export function compileRegex(source: string | RegExp): Grammar {
  if (source instanceof RegExp && /[ims]/.test(source.flags))
    throw new GrammarError(
      'UNSUPPORTED',
      `flags ${source.flags}`,
      'the flags i, m, s cannot be enforced; write the pattern without them',
    );
  const text = typeof source === 'string' ? source : source.source;
  const regexes = new Regexes();
  const spell = (ranges: readonly Range[]) => utf8(regexes, ranges);
  const pattern = parsePattern(text);
  return grammarOf(regexes, search(regexes, pattern, spell, EMPTY));
}

/** One of `choices`, exactly. Throws INVALID if there is none, or an empty one. */
export function compileChoices(choices: readonly string[]): Grammar {
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
  const terms = new Terms(regexes);
  return new Grammar(terms, terms.choice(choices.map((choice) => terms.match(regexes.text(choice), DONE))));
}

function grammarOf(regexes: Regexes, regex: Regex): Grammar {
  if (new Emptiness(regexes).isEmpty(regex))
    throw new GrammarError('UNSATISFIABLE', '', 'no text matches the regular expression');
  const terms = new Terms(regexes);
  return new Grammar(terms, terms.match(regex, DONE));
}
