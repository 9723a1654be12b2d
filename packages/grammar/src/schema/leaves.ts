import { compareNumbers, decimal, isExactNumber } from '../json/decimal.js';
import type { ExactNumber } from '../json/json-number.js';
import { stringifyJson } from '../json/stringify-json.js';
import type { Regex } from '../regex/regexes.js';
import { spellAny } from '../regex/spell.js';
import { atOnce, type Work } from '../turns.js';
import type { Flat } from './flat.js';
import { type Json, Type, typeOf } from './json.js';
import { Numbers } from './numbers.js';
import { innerText, type Strings } from './strings.js';

const PART = 32; // values: a fraction of a millisecond

/** The texts of values without parts: null, booleans, numbers, strings. */
export class Leaves {
  private readonly numbers: Numbers;
  private readonly known = new Map<Flat, Regex>();
  private readonly contents = new Map<Flat, Regex>();
  /** Alternatives without their values. */
  private readonly open = new Map<Flat, Flat>();

  constructor(readonly strings: Strings) {
    this.numbers = new Numbers(strings.regexes);
  }

  /** All leaves that `flat` allows. */
  regex(flat: Flat): Regex {
    return this.known.get(flat) ?? atOnce(this.find(flat));
  }

  /** `regex` in parts. */
  *find(flat: Flat): Work<Regex> {
    const known = this.known.get(flat);
    if (known !== undefined) return known;
    const regex = flat.values ? yield* this.listed(flat) : yield* this.unlisted(flat);
    this.known.set(flat, regex);
    return regex;
  }

  private *listed(flat: Flat): Work<Regex> {
    const texts: string[] = [];
    for (const [i, value] of flat.values!.entries()) {
      if (yield* this.allows(flat, value)) texts.push(stringifyJson(value)!);
      if (i % PART === 0) yield;
    }
    return yield* spellAny(this.strings.regexes, texts);
  }

  private *unlisted(flat: Flat): Work<Regex> {
    const { regexes } = this.strings;
    const choices: Regex[] = [];
    const constants = [null, true, false].filter(
      (value) => (flat.types & typeOf(value)) !== 0 && !flat.excluded.includes(value),
    );
    choices.push(...constants.map((value) => regexes.text(String(value))));
    if (flat.types & Type.number) choices.push(yield* this.number(flat));
    if (flat.types & Type.string) choices.push(this.strings.quoted(yield* this.findContent(flat)));
    return regexes.or(...choices);
  }

  /** The content of strings that `flat` allows, canonical where it is restricted. */
  content(flat: Flat): Regex {
    return this.contents.get(flat) ?? atOnce(this.findContent(flat));
  }

  /** `content` in parts. */
  *findContent(flat: Flat): Work<Regex> {
    const known = this.contents.get(flat);
    if (known !== undefined) return known;
    const { regexes, canonical, free } = this.strings;
    const { minLength, maxLength, patterns, notPatterns, excluded } = flat;
    const conditions: Regex[] = [];
    for (const source of patterns) conditions.push(yield* this.strings.match(source));
    for (const source of notPatterns) conditions.push(regexes.not(yield* this.strings.match(source)));
    const inner = excluded.filter((value) => typeof value === 'string').map(innerText);
    if (inner.length > 0) conditions.push(regexes.not(yield* spellAny(regexes, inner)));
    const hasLength = minLength > 0 || maxLength < Infinity;
    if (conditions.length === 0 || hasLength || patterns.length === 0)
      conditions.push(regexes.repeat(conditions.length > 0 ? canonical : free, minLength, maxLength));
    const content = regexes.and(...conditions);
    this.contents.set(flat, content);
    return content;
  }

  /** Those of the strings in `values` that `flat` allows. */
  *texts(flat: Flat): Work<string[]> {
    const allowed: string[] = [];
    for (const value of flat.values ?? [])
      if (typeof value === 'string' && (yield* this.allows(flat, value))) allowed.push(value);
    return allowed;
  }

  /** Whether `flat` allows one of its values. */
  private *allows(flat: Flat, value: Json): Work<boolean> {
    if ((flat.types & typeOf(value)) === 0 || flat.excluded.includes(value)) return false;
    if (typeof value !== 'string') return !isExactNumber(value) || allowsNumber(flat, value);
    if (isFreeText(flat)) return true;
    const content = yield* this.findContent(this.withoutValues(flat));
    return yield* this.strings.follow(content, innerText(value));
  }

  private withoutValues(flat: Flat): Flat {
    const open = this.open.get(flat) ?? { ...flat, values: undefined };
    this.open.set(flat, open);
    return open;
  }

  private number(flat: Flat): Work<Regex> {
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
