import { Kind, type Node, type Regex } from './node.js';
import type { Regexes } from './regexes.js';

/** Expressions without divisibility, which has as many derivatives as its divisor. */
export class Relaxed {
  private readonly known = new Map<Regex, Regex>();

  constructor(private readonly regexes: Regexes) {}

  /** An expression that matches at least as much as `regex`; complements stay as they are. */
  of(regex: Regex): Regex {
    const { regexes } = this;
    const single = (part: Regex) => this.find(regexes.node(part), part);
    return regexes.fold(regex, this.known, single, (front, rest) => regexes.concat(this.of(front), rest));
  }

  private find({ kind, parts, min, max }: Node, regex: Regex): Regex {
    const { regexes } = this;
    const relaxed = () => parts.map((part) => this.of(part));
    switch (kind) {
      case Kind.Multiple:
        return regexes.many(regexes.or(regexes.range(0x30, 0x39), regexes.byte(0x2e)));
      case Kind.Or:
        return regexes.or(...relaxed());
      case Kind.And:
        return regexes.and(...relaxed());
      case Kind.Repeat:
        return regexes.repeat(relaxed()[0] as Regex, min, max);
      default:
        return regex;
    }
  }
}
