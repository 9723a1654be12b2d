import type { Work } from '../turns.js';
import { Kind, type Regex } from './node.js';
import type { Regexes } from './regexes.js';

/** How long the ways to an end are. */
export class Spans {
  private readonly known = new Map<Regex, number>();

  constructor(private readonly regexes: Regexes) {}

  /** Most bytes of the shortest rest, after any prefix of a text. Infinity: not known. */
  of(regex: Regex): Work<number> {
    return this.regexes.fold(
      regex,
      this.known,
      (part) => this.find(part),
      (front, rest, tail) => this.join(front, rest, tail),
    );
  }

  private *join(front: Regex, rest: number, tail: Regex): Work<number> {
    return Math.max((yield* this.of(front)) + this.regexes.least(tail), rest);
  }

  private *find(regex: Regex): Work<number> {
    const { kind, parts, min } = this.regexes.node(regex);
    const [first = regex] = parts;
    switch (kind) {
      case Kind.Nothing:
      case Kind.Empty:
        return 0;
      case Kind.Bytes:
        return 1;
      case Kind.Or:
        return yield* this.longest(parts);
      case Kind.Repeat:
        return (yield* this.of(first)) + Math.max(0, min - 1) * this.regexes.least(first);
      default:
        return Infinity;
    }
  }

  private *longest(parts: readonly Regex[]): Work<number> {
    let longest = 0;
    for (const part of parts) longest = Math.max(longest, yield* this.of(part));
    return longest;
  }
}
