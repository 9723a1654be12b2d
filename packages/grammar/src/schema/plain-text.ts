import { search } from '../regex/compile.js';
import { parsePattern } from '../regex/parse.js';
import { complement } from '../regex/points.js';
import type { Regex, Regexes } from '../regex/regexes.js';
import { type Range, utf8 } from '../regex/utf8.js';
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
  without(marks: readonly string[]): Regex {
    const { regexes, character } = this;
    const texts = this.model
      .alternatives(this.model.root)
      .filter(({ types }) => (types & Type.string) !== 0)
      .map((flat) => this.texts(flat));
    const any = regexes.many(character);
    const marked = marks.map((mark) => regexes.not(regexes.sequence([any, regexes.text(mark), any])));
    return regexes.and(regexes.or(...texts), ...marked);
  }

  private texts(flat: Flat): Regex {
    const { regexes, character, model } = this;
    const { values, excluded, minLength, maxLength, patterns, notPatterns } = flat;
    if (values)
      return regexes.or(
        ...values.filter((value) => isText(value) && model.leaves.allowsText(flat, value)).map(this.literal),
      );
    return regexes.and(
      regexes.repeat(character, minLength, maxLength),
      ...patterns.map((source) => this.matching(source)),
      ...notPatterns.map((source) => regexes.not(this.matching(source))),
      ...excluded.filter(isText).map((value) => regexes.not(this.literal(value))),
    );
  }

  private readonly literal = (value: unknown): Regex => this.regexes.text(value as string);

  private matching(source: string): Regex {
    const spell = (ranges: readonly Range[]) => utf8(this.regexes, ranges);
    return search(this.regexes, parsePattern(source), spell, this.character);
  }
}
