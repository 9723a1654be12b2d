import type { Regex } from '../regex/regexes.js';
import type { Term, Terms } from '../terms/terms.js';
import type { Conjunction } from './flat.js';
import type { Model } from './model.js';
import type { KeyOrder } from './options.js';

/** Punctuation with the white space around it. */
export interface Marks {
  readonly openObject: Regex;
  readonly closeObject: Regex;
  readonly openArray: Regex;
  readonly closeArray: Regex;
  readonly comma: Regex;
  readonly colon: Regex;
}

/** What arrays and objects need to build their parts. */
export interface Values {
  readonly terms: Terms;
  readonly model: Model;
  readonly marks: Marks;
  readonly keyOrder: KeyOrder;
  /** The key of a member and its colon. */
  key(name: string): Regex;
  /** A value that fits all of `schemas`, then `tail`. */
  value(schemas: Conjunction, tail: Term): Term;
}
