import { EMPTY, type Regex, type Regexes } from './regexes.js';
import { Spans } from './spans.js';

/** unit{min,max} */
export interface Count {
  readonly unit: Regex;
  readonly min: number;
  readonly max: number;
}

/**
 * The count at the front of an expression, also if its text must differ from finitely many others: while no count ends,
 * such a text may always go on. Undefined for other expressions.
 */
export function frontCount(regexes: Regexes, regex: Regex): Count | undefined {
  const counts = conditionsOf(regexes, regex).filter((part) => !differsFromFew(regexes, part));
  return counts.length === 1 ? regexes.repeated(regexes.split(counts[0] as Regex)[0]) : undefined;
}

/** True if the text must also differ from others. */
export const isConditional = (regexes: Regexes, regex: Regex): boolean =>
  conditionsOf(regexes, regex).length > 1;

/** Leaves out the ends of counts that no token can reach: states that differ only in such counts have the same mask. */
export class FarBounds {
  private readonly known = new Map<Regex, Regex>();
  private readonly endlessOnes = new Map<Regex, Regex>();
  private readonly spans: Spans;

  /**
   * @param bytes the most of a token
   * @param isAnyCharacter whether each character of a string is one `unit`
   */
  constructor(
    private readonly regexes: Regexes,
    private readonly bytes: number,
    private readonly isAnyCharacter: (unit: Regex) => boolean,
  ) {
    this.spans = new Spans(regexes);
  }

  /** The expression with which texts of up to `bytes` may go on as with `regex`. */
  without(regex: Regex): Regex {
    if (!this.regexes.hasCounts(regex)) return regex;
    const known = this.known.get(regex);
    if (known !== undefined) return known;
    const [front, tail] = this.regexes.split(regex);
    const changed = this.withoutEnds(this.regexes.concat(this.shorter(front), tail));
    this.known.set(regex, changed);
    return changed;
  }

  private withoutEnds(regex: Regex): Regex {
    if (!this.regexes.hasCounts(regex)) return regex;
    const single = (part: Regex) => this.change(part);
    return this.regexes.fold(regex, this.endlessOnes, single, (front, rest) =>
      this.regexes.concat(this.withoutEnds(front), rest),
    );
  }

  /** @param regex no sequence */
  private change(regex: Regex): Regex {
    const { regexes } = this;
    const choices = regexes.choices(regex);
    if (choices.length > 1) return regexes.or(...choices.map((choice) => this.withoutEnds(choice)));
    return isConditional(regexes, regex) ? this.changeConditions(regex) : this.endless(regex, this.bytes);
  }

  /**
   * The length of a string beside other conditions. Its end is left out where it cannot matter: some text that meets the
   * other conditions is short enough after any token. That is known of expressions alone, and of few excluded texts alone.
   */
  private changeConditions(regex: Regex): Regex {
    const { regexes } = this;
    const parts = regexes.conditions(regex);
    const counted = parts.filter((part) => this.isCount(part));
    const [count = EMPTY] = counted;
    if (counted.length !== 1) return regex;
    const others = parts.filter((part) => part !== count);
    const excluding = others.filter((part) => differsFromFew(regexes, part));
    if (excluding.length === others.length)
      return regexes.and(this.endless(count, 2 * this.bytes), ...others);
    if (excluding.length > 0 || regexes.repeated(count)?.min !== 0) return regex;
    const longest = Math.max(...others.map((part) => this.spans.of(part)));
    return regexes.and(
      this.endless(count, this.bytes + longest),
      ...others.map((part) => this.withoutEnds(part)),
    );
  }

  private isCount(regex: Regex): boolean {
    const count = this.regexes.repeated(regex);
    return count !== undefined && this.isAnyCharacter(count.unit);
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

/** The parts of an intersection at the front; other expressions themselves. */
function conditionsOf(regexes: Regexes, regex: Regex): readonly Regex[] {
  const parts = regexes.conditions(regexes.split(regex)[0]);
  return parts.length > 1 ? parts : [regex];
}

function differsFromFew(regexes: Regexes, condition: Regex): boolean {
  const excluded = regexes.excluded(condition);
  return excluded !== undefined && regexes.isFinite(excluded);
}
