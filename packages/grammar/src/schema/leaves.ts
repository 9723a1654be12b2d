import { compareNumbers, decimal, isExactNumber } from '../json/decimal.js';
import type { ExactNumber } from '../json/json-number.js';
import { stringifyJson } from '../json/stringify-json.js';
import type { Regex } from '../regex/regexes.js';
import type { Flat } from './flat.js';
import { type Json, Type, typeOf } from './json.js';
import { Numbers } from './numbers.js';
import type { Strings } from './strings.js';

/** The texts of values without parts: null, booleans, numbers, strings. */
export class Leaves {
  private readonly numbers: Numbers;
  private readonly contents = new Map<Flat, Regex>();

  constructor(readonly strings: Strings) {
    this.numbers = new Numbers(strings.regexes);
  }

  /** All leaves that `flat` allows. */
  regex(flat: Flat): Regex {
    const { regexes } = this.strings;
    if (flat.values)
      return regexes.or(
        ...this.values(flat, flat.values).map((value) =>
          typeof value === 'string' ? this.strings.literal(value) : regexes.text(stringifyJson(value)!),
        ),
      );
    const choices: Regex[] = [];
    const constants = [null, true, false].filter(
      (value) => (flat.types & typeOf(value)) !== 0 && !flat.excluded.includes(value),
    );
    choices.push(...constants.map((value) => regexes.text(String(value))));
    if (flat.types & Type.number) choices.push(this.number(flat));
    if (flat.types & Type.string) choices.push(this.strings.quoted(this.content(flat)));
    return regexes.or(...choices);
  }

  /** The content of strings that `flat` allows, canonical where it is restricted. */
  content(flat: Flat): Regex {
    const known = this.contents.get(flat);
    if (known !== undefined) return known;
    const { regexes, canonical, free } = this.strings;
    const { minLength, maxLength, patterns, notPatterns, excluded } = flat;
    const conditions = [
      ...patterns.map((source) => this.strings.matching(source)),
      ...notPatterns.map((source) => regexes.not(this.strings.matching(source))),
      ...excluded.filter((value) => typeof value === 'string').map((value) => regexes.not(this.inner(value))),
    ];
    const hasLength = minLength > 0 || maxLength < Infinity;
    if (conditions.length === 0 || hasLength || patterns.length === 0)
      conditions.push(regexes.repeat(conditions.length > 0 ? canonical : free, minLength, maxLength));
    const content = regexes.and(...conditions);
    this.contents.set(flat, content);
    return content;
  }

  /** True if `flat` allows the string `text`; its `values` count too. */
  allowsText(flat: Flat, text: string): boolean {
    if ((flat.types & Type.string) === 0) return false;
    if (flat.values)
      return flat.values.includes(text) && this.allowsText({ ...flat, values: undefined }, text);
    return this.strings.matches(this.content(flat), JSON.stringify(text).slice(1, -1));
  }

  private inner(text: string): Regex {
    return this.strings.regexes.text(JSON.stringify(text).slice(1, -1));
  }

  private values(flat: Flat, values: readonly Json[]): readonly Json[] {
    const open = { ...flat, values: undefined };
    return values.filter((value) => {
      if ((flat.types & typeOf(value)) === 0 || flat.excluded.includes(value)) return false;
      if (typeof value === 'string') return isFreeText(flat) || this.allowsText(open, value);
      return isExactNumber(value) ? allowsNumber(flat, value) : true;
    });
  }

  private number(flat: Flat): Regex {
    const excluded = flat.excluded.filter(isExactNumber);
    return this.numbers.within({ ...flat, excluded });
  }
}

const isFreeText = ({ minLength, maxLength, patterns, notPatterns }: Flat) =>
  minLength === 0 && maxLength === Infinity && patterns.length === 0 && notPatterns.length === 0;

function allowsNumber({ isInteger, least, most, multiples }: Flat, value: ExactNumber): boolean {
  if (isInteger && decimal(value)[1] !== '') return false;
  const reaches = (order: number, isExclusive: boolean) => (isExclusive ? order > 0 : order >= 0);
  if (!least.every((low) => reaches(compareNumbers(value, low.value), low.isExclusive))) return false;
  if (!most.every((high) => reaches(compareNumbers(high.value, value), high.isExclusive))) return false;
  return multiples.every((by) => isMultiple(value, by));
}

/** Exact, on the decimal digits of both. */
function isMultiple(value: ExactNumber, by: number): boolean {
  const [whole, fraction] = decimal(value);
  const [byWhole, byFraction] = decimal(by);
  const digits = Math.max(fraction.length, byFraction.length);
  const scaled = (a: string, b: string) => BigInt(a + b.padEnd(digits, '0'));
  return scaled(whole, fraction) % scaled(byWhole, byFraction) === 0n;
}
