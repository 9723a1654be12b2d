import { GrammarError } from '../error.js';
import { Effort, type Work } from '../turns.js';
import { type ByteSet, byteRange, isEmptySet } from './byte-set.js';
import { Derivatives } from './derivatives.js';
import { EMPTY, Kind, NOTHING, type Node, type Regex } from './node.js';
import { Nodes, Trait } from './nodes.js';

export { EMPTY, NOTHING, type Regex } from './node.js';

const MAX_PARTS = 2_000;
const MAX_MERGED = 100_000; // parts of parts of one alternative: some milliseconds
const LONG = 64; // parts of a sequence
const PART = 256; // expressions: a fraction of a millisecond

/**
 * Regular expressions over bytes with lazily built Brzozowski derivatives (Brzozowski 1964; Owens, Reppy, Turon 2009).
 * Counted repetition, intersection, complement and divisibility are nodes of their own, so that `maxLength: 10000` costs
 * nothing until the text is that long.
 */
export class Regexes {
  /** What work on these expressions, and on terms and states of them, has cost. */
  readonly effort = new Effort();
  private readonly nodes: Nodes;
  private readonly derivatives: Derivatives;
  private readonly single: (Regex | undefined)[];
  /** Long sequences, by their first and their last half. */
  private readonly joined = new Map<number, Regex>();

  /** @param base all that it knows is known at once, under the same ids */
  constructor(base?: Regexes) {
    this.nodes = new Nodes(base?.nodes);
    this.derivatives = new Derivatives(this, this.effort, base?.derivatives);
    this.single = [...(base?.single ?? [])];
  }

  get size(): number {
    return this.nodes.size;
  }

  node(regex: Regex): Node {
    return this.nodes.at(regex);
  }

  nullable(regex: Regex): boolean {
    return this.node(regex).nullable;
  }

  bytes(set: ByteSet): Regex {
    if (isEmptySet(set)) return NOTHING;
    return this.nodes.intern(`b${set.join(',')}`, {
      kind: Kind.Bytes,
      nullable: false,
      set,
      parts: [],
      min: 0,
      max: 0,
    });
  }

  byte(value: number): Regex {
    const known = this.single[value];
    if (known !== undefined) return known;
    const regex = this.bytes(byteRange(value, value));
    this.single[value] = regex;
    return regex;
  }

  range(low: number, high: number): Regex {
    return this.bytes(byteRange(low, high));
  }

  /** The UTF-8 bytes of a short text; `spell` takes longer ones in parts. */
  text(text: string): Regex {
    return this.sequence([...encoder.encode(text)].map((byte) => this.byte(byte)));
  }

  sequence(parts: readonly Regex[]): Regex {
    return parts.reduceRight((tail, head) => this.concat(head, tail), EMPTY);
  }

  /** `sequence` in parts. */
  *inSequence(parts: readonly Regex[]): Work<Regex> {
    let regex = EMPTY;
    for (let i = parts.length - 1; i >= 0; i--) {
      regex = this.concat(parts[i] as Regex, regex);
      if (i % PART === 0) yield;
    }
    return regex;
  }

  concat(head: Regex, tail: Regex): Regex {
    if (head === NOTHING || tail === NOTHING) return NOTHING;
    if (head === EMPTY) return tail;
    if (tail === EMPTY) return head;
    const node = this.node(head);
    if (node.kind === Kind.Concat)
      return this.joined.get(joint(head, tail)) ?? this.sequence([...this.spine(head), tail]);
    const nullable = node.nullable && this.nullable(tail);
    return this.nodes.intern(`.${head},${tail}`, {
      kind: Kind.Concat,
      nullable,
      parts: [head, tail],
      min: 0,
      max: 0,
    });
  }

  /** `concat` in parts. */
  *join(head: Regex, tail: Regex): Work<Regex> {
    if (this.nodes.length(head) < LONG || tail === EMPTY) return this.concat(head, tail);
    const key = joint(head, tail);
    const joined = this.joined.get(key) ?? (yield* this.inSequence([...this.spine(head), tail]));
    this.joined.set(key, joined);
    return joined;
  }

  or(...choices: readonly Regex[]): Regex {
    const parts = this.flatten(Kind.Or, choices).filter((part) => part !== NOTHING);
    if (parts.some((part) => this.isEverything(part))) return this.everything();
    if (parts.length < 2) return parts[0] ?? NOTHING;
    const nullable = parts.some((part) => this.nullable(part));
    return this.nodes.intern(`|${parts.join(',')}`, { kind: Kind.Or, nullable, parts, min: 0, max: 0 });
  }

  and(...conditions: readonly Regex[]): Regex {
    const parts = this.flatten(Kind.And, conditions).filter((part) => !this.isEverything(part));
    if (parts.includes(NOTHING)) return NOTHING;
    if (parts.length < 2) return parts[0] ?? this.everything();
    const nullable = parts.every((part) => this.nullable(part));
    return this.nodes.intern(`&${parts.join(',')}`, { kind: Kind.And, nullable, parts, min: 0, max: 0 });
  }

  not(regex: Regex): Regex {
    const node = this.node(regex);
    if (node.kind === Kind.Not) return node.parts[0] as Regex;
    return this.nodes.intern(`!${regex}`, {
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
    return this.nodes.intern(`*${regex},${node.min},${max}`, node);
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
    return this.nodes.intern(`%${divisor},${remainder}`, node);
  }

  everything(): Regex {
    return this.not(NOTHING);
  }

  /** The rest of the expression after `byte`; NOTHING if no text begins so. */
  derive(regex: Regex, byte: number): Regex {
    return this.derivatives.of(regex, byte);
  }

  /** `derive`; -1 where it takes long and is not known. */
  shortDerive(regex: Regex, byte: number): Regex | -1 {
    return this.derivatives.short(regex, byte);
  }

  /** `derive` in parts. */
  deriveInParts(regex: Regex, byte: number): Work<Regex> {
    return this.derivatives.find(regex, byte);
  }

  /** The bytes at which the derivative may differ from that of the byte before. Read-only. */
  cuts(regex: Regex): ByteSet {
    return this.derivatives.cuts(regex);
  }

  /** Frees the known derivatives if there are many; they are computed again on demand. */
  trim(): void {
    this.derivatives.trim();
  }

  /** The first part of a sequence and the rest; EMPTY is the rest of other expressions. */
  split(regex: Regex): readonly [front: Regex, tail: Regex] {
    const { kind, parts } = this.node(regex);
    return kind === Kind.Concat ? [parts[0] as Regex, parts[1] as Regex] : [regex, EMPTY];
  }

  /** The parts of a sequence, however long; otherwise the expression itself. */
  spine(regex: Regex): Regex[] {
    const parts: Regex[] = [];
    let at = regex;
    for (let node = this.node(at); node.kind === Kind.Concat; node = this.node(at)) {
      parts.push(node.parts[0] as Regex);
      at = node.parts[1] as Regex;
    }
    parts.push(at);
    return parts;
  }

  /**
   * A value of a sequence from those of its parts, from its end on, and of all its ends; in parts, and without recursion,
   * because sequences may be long.
   */
  *fold<Value>(
    regex: Regex,
    known: Map<Regex, Value>,
    single: (part: Regex) => Work<Value>,
    join: (front: Regex, rest: Value, tail: Regex) => Work<Value>,
  ): Work<Value> {
    const open: Regex[] = [];
    let at = regex;
    while (!known.has(at) && this.node(at).kind === Kind.Concat) {
      open.push(at);
      at = this.split(at)[1];
    }
    let value = known.get(at) ?? (yield* single(at));
    known.set(at, value);
    for (let sequence = open.pop(); sequence !== undefined; sequence = open.pop()) {
      const [front, tail] = this.split(sequence);
      value = yield* join(front, value, tail);
      known.set(sequence, value);
      if (open.length % PART === 0) yield;
    }
    return value;
  }

  /** What a repetition repeats, and how often; undefined for other expressions. */
  repeated(regex: Regex): { unit: Regex; min: number; max: number } | undefined {
    const { kind, parts, min, max } = this.node(regex);
    return kind === Kind.Repeat ? { unit: parts[0] as Regex, min, max } : undefined;
  }

  /** True if intersections or complements occur: the expression may match nothing without being NOTHING. */
  hasLogic(regex: Regex): boolean {
    return this.nodes.has(regex, Trait.Logic);
  }

  /** True if counted repetitions occur. */
  hasCounts(regex: Regex): boolean {
    return this.nodes.has(regex, Trait.Counts);
  }

  /** True if divisibility occurs. */
  hasMultiples(regex: Regex): boolean {
    return this.nodes.has(regex, Trait.Multiples);
  }

  /** True if the expression has no repetition: it matches finitely many texts. */
  isFinite(regex: Regex): boolean {
    return !this.nodes.has(regex, Trait.Endless);
  }

  /** The parts of an intersection; otherwise the expression itself. */
  conditions(regex: Regex): readonly Regex[] {
    const { kind, parts } = this.node(regex);
    return kind === Kind.And ? parts : [regex];
  }

  /** The parts of an alternative; otherwise the expression itself. */
  choices(regex: Regex): readonly Regex[] {
    const { kind, parts } = this.node(regex);
    return kind === Kind.Or ? parts : [regex];
  }

  /** No text of the expression has fewer bytes. Without intersections, complements and divisibility one has as many. */
  least(regex: Regex): number {
    return this.nodes.least(regex);
  }

  /** At most as many expressions have a part in a derivative. */
  weight(regex: Regex): number {
    return this.nodes.weight(regex);
  }

  /** The excluded expression of a complement. */
  excluded(regex: Regex): Regex | undefined {
    const node = this.node(regex);
    return node.kind === Kind.Not ? node.parts[0] : undefined;
  }

  private isEverything(regex: Regex): boolean {
    const node = this.node(regex);
    return node.kind === Kind.Not && node.parts[0] === NOTHING;
  }

  private flatten(kind: Kind, parts: readonly Regex[]): Regex[] {
    const flat = new Set<Regex>();
    let merged = 0;
    for (const part of parts) {
      const node = this.node(part);
      merged += node.kind === kind ? node.parts.length : 1;
      if (node.kind === kind) for (const inner of node.parts) flat.add(inner);
      else flat.add(part);
      if (flat.size > MAX_PARTS) tooMany(flat.size, MAX_PARTS);
      if (merged > MAX_MERGED) tooMany(merged, MAX_MERGED);
    }
    return [...flat].sort((a, b) => a - b);
  }
}

const joint = (head: Regex, tail: Regex): number => head * 0x4000000 + tail;

/** @throws GrammarError TOO_COMPLEX */
function tooMany(count: number, most: number): never {
  throw new GrammarError(
    'TOO_COMPLEX',
    '',
    `a regular expression grew to ${count} alternatives; the bound is ${most}. Simplify nested repetitions, or give fewer values`,
  );
}

const encoder = new TextEncoder();
