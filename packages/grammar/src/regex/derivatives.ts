import { setAt } from '../set-at.js';
import type { Effort, Work } from '../turns.js';
import { addAll, type ByteSet, byteRange, hasByte } from './byte-set.js';
import { EMPTY, Kind, NOTHING, type Node, type Regex } from './node.js';
import { Transitions } from './transitions.js';

/** What derivatives read and make: `Regexes`. */
interface Expressions {
  node(regex: Regex): Node;
  nullable(regex: Regex): boolean;
  weight(regex: Regex): number;
  join(head: Regex, tail: Regex): Work<Regex>;
  split(regex: Regex): readonly [front: Regex, tail: Regex];
  concat(head: Regex, tail: Regex): Regex;
  or(...choices: readonly Regex[]): Regex;
  and(...conditions: readonly Regex[]): Regex;
  not(regex: Regex): Regex;
  repeat(regex: Regex, min: number, max: number): Regex;
  multipleOf(divisor: number, remainder: number): Regex;
}

const MAX_KNOWN = 80_000_000; // bytes
const SHORT = 256; // weight: a fraction of a millisecond

/** Lazily built Brzozowski derivatives (Brzozowski 1964; Owens, Reppy, Turon 2009). */
export class Derivatives {
  private readonly known: Transitions;
  private readonly cutSets: (ByteSet | undefined)[];
  constructor(
    private readonly regexes: Expressions,
    private readonly effort: Effort,
    base?: Derivatives,
  ) {
    this.known = new Transitions(base?.known);
    this.cutSets = [...(base?.cutSets ?? [])];
  }

  /** The rest of the expression after `byte`; NOTHING if no text begins so. */
  of(regex: Regex, byte: number): Regex {
    const known = this.known.get(regex, byte);
    if (known >= 0) return known;
    const next = this.compute(regex, byte);
    this.known.set(regex, byte, this.cuts(regex), next);
    return next;
  }

  /** `of`; -1 where it takes long and is not known. */
  short(regex: Regex, byte: number): Regex | -1 {
    const known = this.known.get(regex, byte);
    if (known >= 0) return known;
    return this.regexes.weight(regex) <= SHORT ? this.of(regex, byte) : -1;
  }

  /** `of` in parts: first those of the expression's parts, then its own. */
  *find(regex: Regex, byte: number): Work<Regex> {
    const known = this.short(regex, byte);
    if (known >= 0) return known;
    for (const [part, rest] of this.derivedParts(regex)) {
      const next = this.short(part, byte);
      yield* this.regexes.join(next < 0 ? yield* this.find(part, byte) : next, rest);
      if (this.effort.endsPart()) yield;
    }
    return this.of(regex, byte);
  }

  /** Whose derivatives that of an expression is made of, with what follows each. */
  private *derivedParts(regex: Regex): Generator<readonly [part: Regex, rest: Regex], void> {
    const { regexes } = this;
    const { kind, parts, min, max } = regexes.node(regex);
    if (kind === Kind.Concat) yield* this.fronts(regex);
    else
      for (const part of parts)
        yield [part, kind === Kind.Repeat ? regexes.repeat(part, Math.max(0, min - 1), max - 1) : EMPTY];
  }

  /** The bytes at which the derivative may differ from that of the byte before. Read-only. */
  cuts(regex: Regex): ByteSet {
    const known = this.cutSets[regex];
    if (known) return known;
    const { kind, set, parts } = this.regexes.node(regex);
    let cuts = set ? changes(set) : new Uint32Array(8);
    if (kind === Kind.Multiple) cuts = byteRange(0x2e, 0x3a);
    else if (kind === Kind.Concat) for (const [part] of this.fronts(regex)) addAll(cuts, this.cuts(part));
    else if (parts.length === 1) cuts = this.cuts(parts[0] as Regex);
    else for (const part of parts) addAll(cuts, this.cuts(part));
    setAt(this.cutSets, regex, cuts);
    return cuts;
  }

  /** Frees the known derivatives if there are many; they are computed again on demand. */
  trim(): void {
    if (this.known.size >= MAX_KNOWN) this.known.clear();
  }

  /** The parts of a sequence with which its text may begin, and what follows each. */
  private fronts(regex: Regex): (readonly [front: Regex, rest: Regex])[] {
    const { regexes } = this;
    const fronts: (readonly [Regex, Regex])[] = [];
    for (let at = regex; ; ) {
      const [first, rest] = regexes.split(at);
      fronts.push([first, rest]);
      if (rest === EMPTY || !regexes.nullable(first)) return fronts;
      at = rest;
    }
  }

  private compute(regex: Regex, byte: number): Regex {
    const { regexes } = this;
    const { kind, parts, set, min, max } = regexes.node(regex);
    const [first = NOTHING] = parts;
    this.effort.spend(1 + parts.length);
    switch (kind) {
      case Kind.Nothing:
      case Kind.Empty:
        return NOTHING;
      case Kind.Bytes:
        return set && hasByte(set, byte) ? EMPTY : NOTHING;
      case Kind.Concat:
        return this.ofSequence(regex, byte);
      case Kind.Or:
        return regexes.or(...parts.map((part) => this.of(part, byte)));
      case Kind.And:
        return regexes.and(...parts.map((part) => this.of(part, byte)));
      case Kind.Not:
        return regexes.not(this.of(first, byte));
      case Kind.Repeat:
        return regexes.concat(this.of(first, byte), regexes.repeat(first, Math.max(0, min - 1), max - 1));
      case Kind.Multiple:
        return this.nextMultiple(regex, byte, min, max);
    }
  }

  private ofSequence(regex: Regex, byte: number): Regex {
    const { regexes } = this;
    const fronts = this.fronts(regex);
    this.effort.spend(fronts.length);
    const choices = fronts.map(([first, rest]) => regexes.concat(this.of(first, byte), rest));
    return choices.length === 1 ? (choices[0] as Regex) : regexes.or(...choices);
  }

  private nextMultiple(regex: Regex, byte: number, remainder: number, divisor: number): Regex {
    if (byte === 0x2e) return regex;
    if (byte < 0x30 || byte > 0x39) return NOTHING;
    return this.regexes.multipleOf(divisor, (remainder * 10 + byte - 0x30) % divisor);
  }
}

/** Bytes that are in the set although the byte before is not, or the reverse. */
function changes(set: ByteSet): ByteSet {
  return set.map((word, i) => word ^ ((word << 1) | (i === 0 ? word & 1 : (set[i - 1] as number) >>> 31)));
}
