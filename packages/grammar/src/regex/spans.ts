import { Kind, type Regex } from './node.js';
import type { Regexes } from './regexes.js';

/** How long the ways to an end are. */
export class Spans {
  private readonly known = new Map<Regex, number>();

  constructor(private readonly regexes: Regexes) {}

  /** The longest way to an end that a text may meet: its shortest rest has at most so many bytes. Infinity: not known. */
  of(regex: Regex): number {
    const { regexes } = this;
    const single = (part: Regex) => this.find(part);
    return regexes.fold(regex, this.known, single, (front, rest, tail) =>
      Math.max(this.of(front) + regexes.least(tail), rest),
    );
  }

  private find(regex: Regex): number {
    const { kind, parts, min } = this.regexes.node(regex);
    const [first = regex] = parts;
    switch (kind) {
      case Kind.Nothing:
      case Kind.Empty:
        return 0;
      case Kind.Bytes:
        return 1;
      case Kind.Or:
        return Math.max(...parts.map((part) => this.of(part)));
      case Kind.Repeat:
        return this.of(first) + Math.max(0, min - 1) * this.regexes.least(first);
      default:
        return Infinity;
    }
  }
}
