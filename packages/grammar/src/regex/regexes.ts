import { GrammarError } from '../error.js';
import { addAll, type ByteSet, byteRange, hasByte, isEmptySet } from './byte-set.js';

/** An id of a regular expression over bytes. Equal expressions have equal ids. */
export type Regex = number;

export const NOTHING: Regex = 0; // matches no text
export const EMPTY: Regex = 1; // matches the empty text

enum Kind {
  Nothing,
  Empty,
  Bytes,
  Concat,
  Or,
  And,
  Not,
  Repeat,
  Multiple,
}

interface Node {
  readonly kind: Kind;
  readonly nullable: boolean;
  readonly set?: ByteSet;
  readonly parts: readonly Regex[];
  readonly min: number; // Repeat: fewest; Multiple: remainder so far
  readonly max: number; // Repeat: most; Multiple: divisor
}

const MAX_NODES = 1_000_000;
const MAX_PARTS = 2_000;
const ROW = 256;

/**
 * Regular expressions over bytes with lazily built Brzozowski derivatives (Brzozowski 1964; Owens, Reppy, Turon 2009).
 * Counted repetition, intersection, complement and divisibility are nodes of their own, so that `maxLength: 10000` costs
 * nothing until the text is that long.
 */
export class Regexes {
  private readonly nodes: Node[] = [];
  private readonly ids = new Map<string, Regex>();
  /** The derivative by each byte: [nodes, 256]; -1 is unknown. Rows are made at the first derivative. */
  private readonly logic: number[] = [];
  private readonly cutSets: (ByteSet | undefined)[] = [];
  private rows: (Int32Array | undefined)[] = [];

  constructor() {
    this.intern('0', { kind: Kind.Nothing, nullable: false, parts: [], min: 0, max: 0 });
    this.intern('1', { kind: Kind.Empty, nullable: true, parts: [], min: 0, max: 0 });
  }

  get size(): number {
    return this.nodes.length;
  }

  nullable(regex: Regex): boolean {
    return this.at(regex).nullable;
  }

  bytes(set: ByteSet): Regex {
    if (isEmptySet(set)) return NOTHING;
    return this.intern(`b${set.join(',')}`, {
      kind: Kind.Bytes,
      nullable: false,
      set,
      parts: [],
      min: 0,
      max: 0,
    });
  }

  byte(value: number): Regex {
    return this.bytes(byteRange(value, value));
  }

  range(low: number, high: number): Regex {
    return this.bytes(byteRange(low, high));
  }

  /** The UTF-8 bytes of a text. */
  text(text: string): Regex {
    return this.sequence([...new TextEncoder().encode(text)].map((byte) => this.byte(byte)));
  }

  sequence(parts: readonly Regex[]): Regex {
    return parts.reduceRight((tail, head) => this.concat(head, tail), EMPTY);
  }

  concat(head: Regex, tail: Regex): Regex {
    if (head === NOTHING || tail === NOTHING) return NOTHING;
    if (head === EMPTY) return tail;
    if (tail === EMPTY) return head;
    const node = this.at(head);
    if (node.kind === Kind.Concat)
      return this.concat(node.parts[0] as Regex, this.concat(node.parts[1] as Regex, tail));
    const nullable = node.nullable && this.nullable(tail);
    return this.intern(`.${head},${tail}`, {
      kind: Kind.Concat,
      nullable,
      parts: [head, tail],
      min: 0,
      max: 0,
    });
  }

  or(...choices: readonly Regex[]): Regex {
    const parts = this.flatten(Kind.Or, choices).filter((part) => part !== NOTHING);
    if (parts.some((part) => this.isEverything(part))) return this.everything();
    if (parts.length < 2) return parts[0] ?? NOTHING;
    const nullable = parts.some((part) => this.nullable(part));
    return this.intern(`|${parts.join(',')}`, { kind: Kind.Or, nullable, parts, min: 0, max: 0 });
  }

  and(...conditions: readonly Regex[]): Regex {
    const parts = this.flatten(Kind.And, conditions).filter((part) => !this.isEverything(part));
    if (parts.includes(NOTHING)) return NOTHING;
    if (parts.length < 2) return parts[0] ?? this.everything();
    const nullable = parts.every((part) => this.nullable(part));
    return this.intern(`&${parts.join(',')}`, { kind: Kind.And, nullable, parts, min: 0, max: 0 });
  }

  not(regex: Regex): Regex {
    const node = this.at(regex);
    if (node.kind === Kind.Not) return node.parts[0] as Regex;
    return this.intern(`!${regex}`, {
      kind: Kind.Not,
      nullable: !node.nullable,
      parts: [regex],
      min: 0,
      max: 0,
    });
  }

  /** `regex` at least `min` and at most `max` times. */
  repeat(regex: Regex, min: number, max: number): Regex {
    if (max < min) return NOTHING;
    if (max === 0 || regex === EMPTY) return EMPTY;
    if (regex === NOTHING) return min === 0 ? EMPTY : NOTHING;
    if (min === 1 && max === 1) return regex;
    const nullable = min === 0 || this.nullable(regex);
    const node = { kind: Kind.Repeat, nullable, parts: [regex], min: nullable ? 0 : min, max };
    return this.intern(`*${regex},${node.min},${max}`, node);
  }

  many(regex: Regex): Regex {
    return this.repeat(regex, 0, Infinity);
  }

  optional(regex: Regex): Regex {
    return this.or(EMPTY, regex);
  }

  /** Digits whose number is `remainder` modulo `divisor` less than a multiple; a decimal point is skipped. */
  multipleOf(divisor: number, remainder = 0): Regex {
    const node = { kind: Kind.Multiple, nullable: remainder === 0, parts: [], min: remainder, max: divisor };
    return this.intern(`%${divisor},${remainder}`, node);
  }

  everything(): Regex {
    return this.not(NOTHING);
  }

  /** The rest of the expression after `byte`; NOTHING if no text begins so. */
  derive(regex: Regex, byte: number): Regex {
    const row = this.row(regex);
    const known = row[byte] as number;
    if (known >= 0) return known;
    const next = this.compute(regex, byte);
    row[byte] = next;
    return next;
  }

  /** `{ unit, min, max, tail }` of a repetition at the front of the expression. */
  leadingRepeat(regex: Regex): { unit: Regex; max: number } | undefined {
    let node = this.at(regex);
    if (node.kind === Kind.Concat) node = this.at(node.parts[0] as Regex);
    return node.kind === Kind.Repeat ? { unit: node.parts[0] as Regex, max: node.max } : undefined;
  }

  /** The bytes at which the derivative may differ from that of the byte before. Read-only. */
  cuts(regex: Regex): ByteSet {
    const known = this.cutSets[regex];
    if (known) return known;
    const { kind, set, parts } = this.at(regex);
    let cuts = set ? changes(set) : new Uint32Array(8);
    if (kind === Kind.Multiple) cuts = byteRange(0x2e, 0x3a);
    else if (kind === Kind.Concat && !this.nullable(parts[0] as Regex)) cuts = this.cuts(parts[0] as Regex);
    else if (parts.length === 1) cuts = this.cuts(parts[0] as Regex);
    else for (const part of parts) addAll(cuts, this.cuts(part));
    this.cutSets[regex] = cuts;
    return cuts;
  }

  /** True if intersections or complements occur: the expression may match nothing without being NOTHING. */
  hasLogic(regex: Regex): boolean {
    return this.logic[regex] === 1;
  }

  /** Frees the known derivatives; they are computed again on demand. */
  forget(): void {
    this.rows = [];
  }

  /** True if the expression has no repetition: it matches finitely many texts. */
  isFinite(regex: Regex): boolean {
    const { kind, parts } = this.at(regex);
    if (kind === Kind.Not || kind === Kind.Repeat || kind === Kind.Multiple) return false;
    return parts.every((part) => this.isFinite(part));
  }

  /** The parts of an intersection at the front of the expression; otherwise the expression itself. */
  conditions(regex: Regex): readonly Regex[] {
    const node = this.at(regex);
    const front = node.kind === Kind.Concat ? this.at(node.parts[0] as Regex) : node;
    return front.kind === Kind.And ? front.parts : [regex];
  }

  /** The excluded expression of a complement. */
  excluded(regex: Regex): Regex | undefined {
    const node = this.at(regex);
    return node.kind === Kind.Not ? node.parts[0] : undefined;
  }

  private isEverything(regex: Regex): boolean {
    const node = this.at(regex);
    return node.kind === Kind.Not && node.parts[0] === NOTHING;
  }

  private compute(regex: Regex, byte: number): Regex {
    const { kind, parts, set, min, max } = this.at(regex);
    const [first = NOTHING, second = NOTHING] = parts;
    switch (kind) {
      case Kind.Nothing:
      case Kind.Empty:
        return NOTHING;
      case Kind.Bytes:
        return set && hasByte(set, byte) ? EMPTY : NOTHING;
      case Kind.Concat: {
        const rest = this.concat(this.derive(first, byte), second);
        return this.nullable(first) ? this.or(rest, this.derive(second, byte)) : rest;
      }
      case Kind.Or:
        return this.or(...parts.map((part) => this.derive(part, byte)));
      case Kind.And:
        return this.and(...parts.map((part) => this.derive(part, byte)));
      case Kind.Not:
        return this.not(this.derive(first, byte));
      case Kind.Repeat:
        return this.concat(this.derive(first, byte), this.repeat(first, Math.max(0, min - 1), max - 1));
      case Kind.Multiple:
        return this.nextMultiple(regex, byte, min, max);
    }
  }

  private nextMultiple(regex: Regex, byte: number, remainder: number, divisor: number): Regex {
    if (byte === 0x2e) return regex;
    if (byte < 0x30 || byte > 0x39) return NOTHING;
    return this.multipleOf(divisor, (remainder * 10 + byte - 0x30) % divisor);
  }

  private flatten(kind: Kind, parts: readonly Regex[]): Regex[] {
    const flat = new Set<Regex>();
    for (const part of parts) {
      const node = this.at(part);
      if (node.kind === kind) for (const inner of node.parts) flat.add(inner);
      else flat.add(part);
    }
    if (flat.size > MAX_PARTS)
      throw new GrammarError(
        'TOO_COMPLEX',
        '',
        `a regular expression grew to ${flat.size} alternatives; the bound is ${MAX_PARTS}. Simplify nested repetitions`,
      );
    return [...flat].sort((a, b) => a - b);
  }

  private row(regex: Regex): Int32Array {
    let row = this.rows[regex];
    if (!row) {
      row = new Int32Array(ROW).fill(-1);
      this.rows[regex] = row;
    }
    return row;
  }

  private at(regex: Regex): Node {
    return this.nodes[regex] as Node;
  }

  private intern(key: string, node: Node): Regex {
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    if (this.nodes.length >= MAX_NODES)
      throw new GrammarError(
        'TOO_COMPLEX',
        '',
        `more than ${MAX_NODES} regular expressions; simplify patterns and bounds`,
      );
    const { kind, parts } = node;
    const hasLogic = kind === Kind.And || kind === Kind.Not || parts.some((part) => this.logic[part] === 1);
    this.logic.push(hasLogic ? 1 : 0);
    this.ids.set(key, this.nodes.length);
    return this.nodes.push(node) - 1;
  }
}

/** Bytes that are in the set although the byte before is not, or the reverse. */
function changes(set: ByteSet): ByteSet {
  return set.map((word, i) => word ^ ((word << 1) | (i === 0 ? word & 1 : (set[i - 1] as number) >>> 31)));
}
