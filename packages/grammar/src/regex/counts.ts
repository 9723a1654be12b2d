import type { Work } from '../turns.js';
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
    private readonly isAnyCharacter: (unit: Regex) => Work<boolean>,
  ) {
    this.spans = new Spans(regexes);
  }

  /** The expression with which texts of up to `bytes` may go on as with `regex`: known, or found in parts. */
  without(regex: Regex): Regex | Work<Regex> {
    return this.regexes.hasCounts(regex) ? (this.known.get(regex) ?? this.find(regex)) : regex;
  }

  private *find(regex: Regex): Work<Regex> {
    const [front, tail] = this.regexes.split(regex);
    const changed = yield* this.withoutEnds(this.regexes.concat(this.shorter(front), tail));
    this.known.set(regex, changed);
    return changed;
  }

  private *withoutEnds(regex: Regex): Work<Regex> {
    if (!this.regexes.hasCounts(regex)) return regex;
    return yield* this.regexes.fold(
      regex,
      this.endlessOnes,
      (part) => this.change(part),
      (front, rest) => this.join(front, rest),
    );
  }

  private *join(front: Regex, rest: Regex): Work<Regex> {
    return this.regexes.concat(yield* this.withoutEnds(front), rest);
  }

  /** @param regex no sequence */
  private *change(regex: Regex): Work<Regex> {
    const { regexes } = this;
    const choices = regexes.choices(regex);
    if (choices.length > 1) return regexes.or(...(yield* this.each(choices)));
    return isConditional(regexes, regex)
      ? yield* this.changeConditions(regex)
      : this.endless(regex, this.bytes);
  }

  private *each(parts: readonly Regex[]): Work<Regex[]> {
    const changed: Regex[] = [];
    for (const part of parts) changed.push(yield* this.withoutEnds(part));
    return changed;
  }

  /**
   * The length of a string beside other conditions. Its end is left out where it cannot matter: some text that meets the
   * other conditions is short enough after any token. That is known of expressions alone, and of few excluded texts alone.
   */
  private *changeConditions(regex: Regex): Work<Regex> {
    const { regexes } = this;
    const parts = regexes.conditions(regex);
    const counted: Regex[] = [];
    for (const part of parts) if (yield* this.isCount(part)) counted.push(part);
    const [count = EMPTY] = counted;
    if (counted.length !== 1) return regex;
    const others = parts.filter((part) => part !== count);
    const excluding = others.filter((part) => differsFromFew(regexes, part));
    if (excluding.length === others.length)
      return regexes.and(this.endless(count, 2 * this.bytes), ...others);
    if (excluding.length > 0 || regexes.repeated(count)?.min !== 0) return regex;
    let longest = 0;
    for (const part of others) longest = Math.max(longest, yield* this.spans.of(part));
    return regexes.and(this.endless(count, this.bytes + longest), ...(yield* this.each(others)));
  }

  private *isCount(regex: Regex): Work<boolean> {
    const count = this.regexes.repeated(regex);
    return count !== undefined && (yield* this.isAnyCharacter(count.unit));
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
