import { GrammarError } from '../error.js';
import { compareNumbers, decimal, sign } from '../json/decimal.js';
import type { ExactNumber } from '../json/json-number.js';
import { EMPTY, type Regex, type Regexes } from '../regex/regexes.js';
import type { Work } from '../turns.js';

/** A bound of numbers. */
export interface Bound {
  readonly value: ExactNumber;
  readonly isExclusive: boolean;
}

export interface NumberLimits {
  readonly isInteger: boolean;
  readonly least: readonly Bound[];
  readonly most: readonly Bound[];
  readonly multiples: readonly number[];
  readonly excluded: readonly ExactNumber[];
}

const MAX_MULTIPLES = 100;
const PART = 32; // conditions: a fraction of a millisecond

/** Larger ones have too many derivatives between bounds: texts could reach a place where no token may follow. */
const MAX_BOUNDED_DIVISOR = 1000;
const MAX_EXCLUSIVE_DIGITS = 16; // more digits could round to the excluded bound itself

/** JSON numbers within limits, never -0. Unlimited ones may have exponents; limited ones are plain decimals. */
export class Numbers {
  private readonly digit: Regex;
  private readonly digits: Regex;
  private readonly whole: Regex; // 0, or digits without a leading zero
  private readonly fraction: Regex; // .5, or nothing
  private readonly minus: Regex;
  private readonly wholeNotZero: Regex;
  private readonly notZero: Regex;

  constructor(private readonly regexes: Regexes) {
    const first = regexes.range(0x31, 0x39);
    this.digit = regexes.range(0x30, 0x39);
    this.digits = regexes.many(this.digit);
    this.whole = regexes.or(regexes.byte(0x30), regexes.concat(first, this.digits));
    this.fraction = regexes.optional(regexes.sequence([regexes.byte(0x2e), this.digit, this.digits]));
    this.minus = regexes.byte(0x2d);
    this.wholeNotZero = regexes.concat(first, this.digits);
    const small = regexes.sequence([
      regexes.text('0.'),
      regexes.many(regexes.byte(0x30)),
      first,
      this.digits,
    ]);
    this.notZero = regexes.or(regexes.concat(this.wholeNotZero, this.fraction), small);
  }

  /** In parts. */
  *within(limits: NumberLimits): Work<Regex> {
    const { regexes } = this;
    const { isInteger, excluded } = limits;
    const multiples = [...new Set(limits.multiples)];
    needFew(multiples.length);
    const least = tightest(limits.least, 1);
    const most = tightest(limits.most, -1);
    const isLimited = least.length + most.length + multiples.length + excluded.length > 0;
    if (!isLimited) return this.unlimited(isInteger);
    const tooLarge = multiples.find((by) => digitsOf(by) > MAX_BOUNDED_DIVISOR);
    if (tooLarge !== undefined && least.length + most.length > 0)
      throw new GrammarError(
        'UNSUPPORTED',
        '',
        `multipleOf ${tooLarge} together with bounds cannot be enforced: its digits may be a number up to ${MAX_BOUNDED_DIVISOR}; remove the bounds, or list the values in enum`,
      );
    const hasOpenBound = [...least, ...most].some((bound) => bound.isExclusive);
    const magnitude = this.magnitude(isInteger, hasOpenBound);
    const positive = regexes.and(magnitude, ...this.bounds(least, most, 1));
    yield;
    const below = isInteger ? this.wholeNotZero : this.notZero;
    const negative = regexes.and(magnitude, below, ...this.bounds(most, least, -1));
    yield;
    const signed = regexes.or(positive, regexes.concat(this.minus, negative));
    return regexes.and(signed, ...(yield* this.conditions(multiples, excluded)));
  }

  private *conditions(multiples: readonly number[], excluded: readonly ExactNumber[]): Work<Regex[]> {
    const conditions: Regex[] = [];
    for (const by of multiples) {
      conditions.push(this.multipleOf(by));
      if (conditions.length % PART === 0) yield;
    }
    for (const value of excluded) {
      conditions.push(this.regexes.not(this.spellings(value)));
      if (conditions.length % PART === 0) yield;
    }
    return conditions;
  }

  private unlimited(isInteger: boolean): Regex {
    const { regexes } = this;
    if (isInteger) return regexes.or(this.whole, regexes.concat(this.minus, this.wholeNotZero));
    const sign = regexes.optional(regexes.or(regexes.byte(0x2b), this.minus));
    const e = regexes.or(regexes.byte(0x45), regexes.byte(0x65));
    const exponent = regexes.optional(
      regexes.sequence([
        e,
        sign,
        regexes.optional(regexes.range(0x30, 0x32)), // 1e400 is no float64, and -1e-400 is -0
        this.digit,
        regexes.optional(this.digit),
      ]),
    );
    const positive = regexes.concat(this.whole, this.fraction);
    return regexes.concat(regexes.or(positive, regexes.concat(this.minus, this.notZero)), exponent);
  }

  private magnitude(isInteger: boolean, isShort: boolean): Regex {
    if (isInteger) return this.whole;
    if (!isShort) return this.regexes.concat(this.whole, this.fraction);
    const digits = this.regexes.repeat(this.digit, 1, MAX_EXCLUSIVE_DIGITS);
    return this.regexes.concat(
      this.whole,
      this.regexes.optional(this.regexes.concat(this.regexes.byte(0x2e), digits)),
    );
  }

  /** Conditions on the magnitude of numbers of one side of 0: at least `low` · side, at most `high` · side. */
  private bounds(low: readonly Bound[], high: readonly Bound[], side: 1 | -1): Regex[] {
    const conditions: Regex[] = [];
    for (const { value, isExclusive } of low) {
      const bound = sign(value) * side;
      if (bound > 0 || (bound === 0 && isExclusive)) conditions.push(this.above(value, isExclusive));
    }
    for (const { value, isExclusive } of high) {
      if (sign(value) * side < 0) conditions.push(this.regexes.not(this.regexes.everything()));
      else conditions.push(this.regexes.not(this.above(value, !isExclusive)));
    }
    return conditions;
  }

  /** Magnitudes greater than that of `bound`, or equal to it unless `isStrict`. */
  private above(bound: ExactNumber, isStrict: boolean): Regex {
    const { regexes } = this;
    const [whole, fraction] = decimal(bound);
    const first = whole === '0' ? regexes.range(0x31, 0x39) : this.digit;
    const longer = regexes.sequence([
      first,
      regexes.repeat(this.digit, whole === '0' ? 0 : whole.length, Infinity),
      this.fraction,
    ]);
    const ends = (digits: number) =>
      regexes.concat(regexes.repeat(this.digit, digits, digits), this.fraction);
    return regexes.or(longer, this.digitsAbove(whole, this.fractionAbove(fraction, isStrict), ends));
  }

  /**
   * Texts of digits that are greater than `digits`, or the same and then `same`. Alternatives at each digit, not of whole
   * texts: as many expressions as digits.
   * @param ends what follows a greater digit, by the number of digits of `digits` behind it
   */
  private digitsAbove(digits: string, same: Regex, ends: (digits: number) => Regex): Regex {
    const { regexes } = this;
    return [...digits].reduceRight((above, char, i) => {
      const greater = regexes.range(char.charCodeAt(0) + 1, 0x39);
      return regexes.or(
        regexes.concat(greater, ends(digits.length - i - 1)),
        regexes.concat(regexes.byte(char.charCodeAt(0)), above),
      );
    }, same);
  }

  private fractionAbove(fraction: string, isStrict: boolean): Regex {
    const { regexes } = this;
    const nonZero = regexes.sequence([this.digits, regexes.range(0x31, 0x39), this.digits]);
    const point = regexes.byte(0x2e);
    if (fraction === '') return isStrict ? regexes.concat(point, nonZero) : this.fraction;
    const same = isStrict ? nonZero : this.digits;
    return regexes.concat(
      point,
      this.digitsAbove(fraction, same, () => this.digits),
    );
  }

  /** With f digits after the point, k / 10^p divides the number if k / gcd(k, 10^(p-f)) divides the digits. */
  private multipleOf(by: number): Regex {
    const { regexes } = this;
    const [, fraction] = decimal(by);
    const divisor = digitsOf(by);
    const minus = regexes.optional(this.minus);
    const zeros = regexes.optional(
      regexes.concat(regexes.byte(0x2e), regexes.repeat(regexes.byte(0x30), 1, Infinity)),
    );
    const integer = regexes.and(this.whole, this.divisible(divisor, fraction.length));
    const choices = [regexes.concat(integer, zeros)];
    for (let digits = 1; digits <= fraction.length; digits++) {
      const shape = regexes.sequence([
        this.whole,
        regexes.byte(0x2e),
        regexes.repeat(this.digit, digits, digits),
      ]);
      choices.push(regexes.and(shape, this.divisible(divisor, fraction.length - digits)));
    }
    return regexes.concat(minus, regexes.or(...choices));
  }

  private divisible(divisor: number, zeros: number): Regex {
    const factor = greatestCommonDivisor(divisor, 10 ** zeros);
    return this.regexes.multipleOf(divisor / factor);
  }

  private spellings(value: ExactNumber): Regex {
    const { regexes } = this;
    const [whole, fraction] = decimal(value);
    const zeros = regexes.many(regexes.byte(0x30));
    const point = regexes.byte(0x2e);
    const tail =
      fraction === ''
        ? regexes.optional(regexes.concat(point, zeros))
        : regexes.concat(regexes.text(`.${fraction}`), zeros);
    const minus = [this.minus, regexes.optional(this.minus), EMPTY][sign(value) + 1]!;
    return regexes.sequence([minus, regexes.text(whole), tail]);
  }
}

/** @throws GrammarError TOO_COMPLEX */
function needFew(multiples: number): void {
  if (multiples > MAX_MULTIPLES)
    throw new GrammarError(
      'TOO_COMPLEX',
      '',
      `${multiples} different values of multipleOf at one place; the bound is ${MAX_MULTIPLES}: give their least common multiple`,
    );
}

/** Of lower bounds (`side` 1) or upper ones (-1) the one that the others follow from; none of none. */
const tightest = (bounds: readonly Bound[], side: 1 | -1): readonly Bound[] =>
  bounds.length < 2
    ? bounds
    : [
        bounds.reduce((best, bound) => {
          const order = side * compareNumbers(bound.value, best.value);
          return order > 0 || (order === 0 && bound.isExclusive) ? bound : best;
        }),
      ];

/** The digits of a number, without its point. */
const digitsOf = (value: number): number => Number(decimal(value).join(''));

const greatestCommonDivisor = (a: number, b: number): number =>
  b === 0 ? a : greatestCommonDivisor(b, a % b);
