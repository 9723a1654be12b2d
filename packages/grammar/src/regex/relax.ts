import type { Work } from '../turns.js';
import { Kind, type Node, type Regex } from './node.js';
import type { Regexes } from './regexes.js';

/** Expressions without divisibility, which has as many derivatives as its divisor. */
export class Relaxed {
  private readonly known = new Map<Regex, Regex>();

  constructor(private readonly regexes: Regexes) {}

  /** An expression that matches at least as much as `regex`; complements stay as they are. */
  of(regex: Regex): Work<Regex> {
    return this.regexes.fold(
      regex,
      this.known,
      (part) => this.find(this.regexes.node(part), part),
      (front, rest) => this.join(front, rest),
    );
  }

  private *join(front: Regex, rest: Regex): Work<Regex> {
    return this.regexes.concat(yield* this.of(front), rest);
  }

  private *find({ kind, parts, min, max }: Node, regex: Regex): Work<Regex> {
    const { regexes } = this;
    switch (kind) {
      case Kind.Multiple:
        return regexes.many(regexes.or(regexes.range(0x30, 0x39), regexes.byte(0x2e)));
      case Kind.Or:
        return regexes.or(...(yield* this.each(parts)));
      case Kind.And:
        return regexes.and(...(yield* this.each(parts)));
      case Kind.Repeat:
        return regexes.repeat(yield* this.of(parts[0] as Regex), min, max);
      default:
        return regex;
    }
  }

  private *each(parts: readonly Regex[]): Work<Regex[]> {
    const relaxed: Regex[] = [];
    for (const part of parts) relaxed.push(yield* this.of(part));
    return relaxed;
  }
}
