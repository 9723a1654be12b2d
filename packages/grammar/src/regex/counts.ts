import { EMPTY, type Regex, type Regexes } from './regexes.js';

/** A counted expression at the front of another one: unit{min,max}, then `tail`. */
export interface Count {
  readonly unit: Regex;
  readonly min: number;
  readonly max: number;
  readonly tail: Regex;
}

/**
 * The count at the front of an expression, also if its text must differ from finitely many others: while no count ends,
 * such a text may always go on. Undefined for other expressions.
 */
export function frontCount(regexes: Regexes, regex: Regex): Count | undefined {
  const { parts, tail } = conditionsOf(regexes, regex);
  const counts = parts.filter((part) => !differsFromFew(regexes, part));
  const [only = EMPTY] = counts;
  return counts.length === 1
    ? countOf(regexes, parts.length > 1 ? only : regexes.concat(only, tail))
    : undefined;
}

/** True if the text must also differ from others. */
export const isConditional = (regexes: Regexes, regex: Regex): boolean =>
  conditionsOf(regexes, regex).parts.length > 1;

/** Takes the ends off counts that a token cannot reach: states that differ in such counts only have the same mask. */
export class FarBounds {
  private readonly known = new Map<Regex, Regex>();
  private readonly endlessOnes = new Map<Regex, Regex>();

  /** @param bytes the most of a token */
  constructor(
    private readonly regexes: Regexes,
    private readonly bytes: number,
    private readonly isAnyCharacter: (unit: Regex) => boolean,
  ) {}

  /** The expression with which texts of up to `bytes` may go on as with `regex`. */
  without(regex: Regex): Regex {
    const known = this.known.get(regex);
    if (known !== undefined) return known;
    const [front, tail] = this.regexes.split(regex);
    const changed = this.withoutEnds(this.regexes.concat(this.shorter(front), tail));
    this.known.set(regex, changed);
    return changed;
  }

  private withoutEnds(regex: Regex): Regex {
    const known = this.endlessOnes.get(regex);
    if (known !== undefined) return known;
    const changed = this.change(regex);
    this.endlessOnes.set(regex, changed);
    return changed;
  }

  private change(regex: Regex): Regex {
    const { regexes } = this;
    const choices = regexes.choices(regex);
    if (choices.length > 1) return regexes.or(...choices.map((choice) => this.withoutEnds(choice)));
    const [front, tail] = regexes.split(regex);
    if (isConditional(regexes, front))
      return regexes.concat(this.changeConditions(front), this.withoutEnds(tail));
    if (tail !== EMPTY) return regexes.concat(this.withoutEnds(front), this.withoutEnds(tail));
    return this.endless(regex, this.bytes);
  }

  private changeConditions(regex: Regex): Regex {
    const { regexes } = this;
    const parts = regexes.conditions(regex);
    const counted = parts.filter((part) => this.isCount(part));
    const [count = EMPTY] = counted;
    if (counted.length !== 1) return regex;
    const others = parts.filter((part) => part !== count);
    const far = Math.max(...others.map((part) => this.needed(part)));
    return regexes.and(this.endless(count, far), ...others.map((part) => this.withoutEnds(part)));
  }

  /** Any characters, counted: the length of a string. Other conditions cannot exclude what such a count allows. */
  private isCount(regex: Regex): boolean {
    const count = this.regexes.repeated(regex);
    return count !== undefined && this.isAnyCharacter(count.unit);
  }

  /** The bytes with which a text of another condition can always end. With twice as many as a token has, few excluded ones leave some. */
  private needed(condition: Regex): number {
    return differsFromFew(this.regexes, condition)
      ? 2 * this.bytes
      : this.bytes + this.regexes.span(condition);
  }

  /** A count that no token can complete begins as a smaller one does. Not within other conditions: they may exclude one of both. */
  private shorter(regex: Regex): Regex {
    const count = this.regexes.repeated(regex);
    if (!count) return regex;
    const { unit, min, max } = count;
    const most = Math.floor(this.bytes / this.regexes.least(unit)); // Infinity for units that may be empty
    return min > most + 1 ? this.regexes.repeat(unit, most + 1, max) : regex;
  }

  private endless(regex: Regex, bytes: number): Regex {
    const count = this.regexes.repeated(regex);
    if (!count || count.max * this.regexes.least(count.unit) < bytes) return regex;
    return this.regexes.repeat(count.unit, count.min, Infinity);
  }
}

/** The parts of an intersection at the front, and what follows it; a single part for other expressions. */
function conditionsOf(regexes: Regexes, regex: Regex): { parts: readonly Regex[]; tail: Regex } {
  const [front, tail] = regexes.split(regex);
  const parts = regexes.conditions(front);
  return parts.length > 1 ? { parts, tail } : { parts: [regex], tail: EMPTY };
}

function countOf(regexes: Regexes, regex: Regex): Count | undefined {
  const [front, tail] = regexes.split(regex);
  const repeat = regexes.repeated(front);
  return repeat && { ...repeat, tail };
}

function differsFromFew(regexes: Regexes, condition: Regex): boolean {
  const excluded = regexes.excluded(condition);
  return excluded !== undefined && regexes.isFinite(excluded);
}
