import { search } from '../regex/compile.js';
import { parsePattern } from '../regex/parse.js';
import { complement } from '../regex/points.js';
import type { Regex, Regexes } from '../regex/regexes.js';
import { spell, spellAny } from '../regex/spell.js';
import { utf8, utf8Spelling } from '../regex/utf8.js';
import type { Work } from '../turns.js';
import type { Flat } from './flat.js';
import { Type } from './json.js';
import type { Model } from './model.js';

const isText = (value: unknown): value is string => typeof value === 'string';

/** The strings that fit a schema as texts of their own: without quotes, nothing escaped. */
export class PlainText {
  private readonly regexes: Regexes;
  private readonly character: Regex;

  constructor(private readonly model: Model) {
    this.regexes = model.strings.regexes;
    this.character = utf8(this.regexes, complement([]));
  }

  /** Those in which none of `marks` comes. */
  *without(marks: readonly string[]): Work<Regex> {
    const { regexes, character } = this;
    const texts: Regex[] = [];
    for (const flat of this.model.alternatives(this.model.root))
      if (flat.types & Type.string) texts.push(yield* this.texts(flat));
    const any = regexes.many(character);
    const marked: Regex[] = [];
    for (const mark of marks) marked.push(regexes.not(regexes.concat(any, yield* spell(regexes, mark, any))));
    return regexes.and(regexes.or(...texts), ...marked);
  }

  private *texts(flat: Flat): Work<Regex> {
    const { regexes, character, model } = this;
    const { values, excluded, minLength, maxLength, patterns, notPatterns } = flat;
    if (values) return yield* spellAny(regexes, yield* model.leaves.texts(flat));
    const conditions: Regex[] = [];
    for (const source of patterns) conditions.push(yield* this.matching(source));
    for (const source of notPatterns) conditions.push(regexes.not(yield* this.matching(source)));
    const others = yield* spellAny(regexes, excluded.filter(isText));
    return regexes.and(regexes.repeat(character, minLength, maxLength), ...conditions, regexes.not(others));
  }

  private *matching(source: string): Work<Regex> {
    const spell = utf8Spelling(this.regexes);
    return yield* search(this.regexes, yield* parsePattern(source), spell, this.character);
  }
}
