import { GrammarError } from '../error.js';
import { atOnce, type Work } from '../turns.js';
import { addAll, type ByteSet, byteRange, hasByte, isEmptySet } from './byte-set.js';
import { Transitions } from './transitions.js';

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

const Trait = { Logic: 1, Counts: 2, Multiples: 4 } as const;

function traitOf({ kind, min, max }: Node): number {
  if (kind === Kind.And || kind === Kind.Not) return Trait.Logic;
  if (kind === Kind.Multiple) return Trait.Multiples;
  return kind === Kind.Repeat && (min > 0 || max < Infinity) ? Trait.Counts : 0;
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
const MAPS = 16;
const MAX_TEXT = 262_144; // bytes
const MAX_BRANCHES = 64; // of texts with common prefixes: deeper expressions could exhaust the stack
const PART = 256; // bytes of a text: a fraction of a millisecond

/**
 * Regular expressions over bytes with lazily built Brzozowski derivatives (Brzozowski 1964; Owens, Reppy, Turon 2009).
 * Counted repetition, intersection, complement and divisibility are nodes of their own, so that `maxLength: 10000` costs
 * nothing until the text is that long.
 */
export class Regexes {
  private readonly nodes: Node[];
  /** In several maps: a large one grows for too long at once. */
  private readonly ids: readonly Map<string, Regex>[];
  /** By expression: bits of what occurs in it. */
  private readonly traits: number[];
  private readonly leasts: number[];
  private readonly spans = new Map<Regex, number>();
  private readonly relaxed = new Map<Regex, Regex>();
  private readonly cutSets: (ByteSet | undefined)[];
  private readonly derivatives: Transitions;
  private readonly single: (Regex | undefined)[];

  /** @param base all that it knows is known at once, under the same ids */
  constructor(base?: Regexes) {
    this.nodes = [...(base?.nodes ?? [])];
    this.ids = Array.from({ length: MAPS }, (_, i) => new Map(base?.ids[i]));
    this.traits = [...(base?.traits ?? [])];
    this.leasts = [...(base?.leasts ?? [])];
    this.cutSets = [...(base?.cutSets ?? [])];
    this.derivatives = new Transitions(base?.derivatives);
    this.single = [...(base?.single ?? [])];
    if (base) return;
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
    const known = this.single[value];
    if (known !== undefined) return known;
    const regex = this.bytes(byteRange(value, value));
    this.single[value] = regex;
    return regex;
  }

  range(low: number, high: number): Regex {
    return this.bytes(byteRange(low, high));
  }

  /** The UTF-8 bytes of a text. */
  text(text: string): Regex {
    return atOnce(this.spell(text));
  }

  /** `text` in parts, then `tail`. */
  *spell(text: string, tail: Regex = EMPTY): Work<Regex> {
    return yield* this.spellBytes(encode(text), 0, tail);
  }

  /** Any of `texts`, in parts. Common prefixes are spelled once: few expressions are alternatives at one place. */
  *spellAny(texts: readonly string[]): Work<Regex> {
    const all: Uint8Array[] = [];
    for (const text of new Set(texts)) {
      all.push(encode(text));
      if (all.length % PART === 0) yield;
    }
    return all.length === 0 ? NOTHING : yield* this.branches(all, 0, 0);
  }

  /** Any of the bytes of `texts` from `at` on; they are alike before. */
  private *branches(texts: readonly Uint8Array[], at: number, level: number): Work<Regex> {
    const [first] = texts as readonly [Uint8Array];
    if (texts.length === 1) return yield* this.spellBytes(first, at, EMPTY);
    const groups = new Map<number | undefined, Uint8Array[]>();
    const end = endOfCommon(texts, at);
    for (const text of texts) {
      const group = groups.get(text[end]);
      if (group) group.push(text);
      else groups.set(text[end], [text]);
    }
    const each: Regex[] = [];
    for (const group of level < MAX_BRANCHES ? groups.values() : texts.map((text) => [text])) {
      each.push(yield* this.branches(group, end, level + 1));
      yield;
    }
    return yield* this.spellBytes(first.subarray(0, end), at, this.or(...each));
  }

  private *spellBytes(bytes: Uint8Array, from: number, tail: Regex): Work<Regex> {
    let regex = tail;
    for (let i = bytes.length - 1; i >= from; i--) {
      regex = this.concat(this.byte(bytes[i] as number), regex);
      if (i % PART === 0 && i > from) yield;
    }
    return regex;
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
    const node = this.at(head);
    if (node.kind === Kind.Concat) return this.sequence([...this.spine(head), tail]);
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

  /**
   * An expression that matches at least as much, without divisibility, which has as many derivatives as its divisor;
   * complements stay as they are.
   */
  withoutMultiples(regex: Regex): Regex {
    const single = (part: Regex) => this.relax(this.at(part), part);
    return this.fold(regex, this.relaxed, single, (front, rest) =>
      this.concat(this.withoutMultiples(front), rest),
    );
  }

  private relax({ kind, parts, min, max }: Node, regex: Regex): Regex {
    const relaxed = () => parts.map((part) => this.withoutMultiples(part));
    switch (kind) {
      case Kind.Multiple:
        return this.many(this.or(this.range(0x30, 0x39), this.byte(0x2e)));
      case Kind.Or:
        return this.or(...relaxed());
      case Kind.And:
        return this.and(...relaxed());
      case Kind.Repeat:
        return this.repeat(relaxed()[0] as Regex, min, max);
      default:
        return regex;
    }
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
    const known = this.derivatives.get(regex, byte);
    if (known >= 0) return known;
    const next = this.compute(regex, byte);
    this.derivatives.set(regex, byte, this.cuts(regex), next);
    return next;
  }

  /** The first part of a sequence and the rest; EMPTY is the rest of other expressions. */
  split(regex: Regex): readonly [front: Regex, tail: Regex] {
    const { kind, parts } = this.at(regex);
    return kind === Kind.Concat ? [parts[0] as Regex, parts[1] as Regex] : [regex, EMPTY];
  }

  /** The parts of a sequence, however long; otherwise the expression itself. */
  spine(regex: Regex): Regex[] {
    const parts: Regex[] = [];
    let at = regex;
    for (let node = this.at(at); node.kind === Kind.Concat; node = this.at(at)) {
      parts.push(node.parts[0] as Regex);
      at = node.parts[1] as Regex;
    }
    parts.push(at);
    return parts;
  }

  /**
   * A value of a sequence from those of its parts, from its end on, and of all its ends: without recursion, because
   * sequences may be long.
   */
  fold<Value>(
    regex: Regex,
    known: Map<Regex, Value>,
    single: (part: Regex) => Value,
    join: (front: Regex, rest: Value, tail: Regex) => Value,
  ): Value {
    const open: Regex[] = [];
    let at = regex;
    while (!known.has(at) && this.at(at).kind === Kind.Concat) {
      open.push(at);
      at = this.split(at)[1];
    }
    let value = known.get(at) ?? single(at);
    known.set(at, value);
    for (let sequence = open.pop(); sequence !== undefined; sequence = open.pop()) {
      const [front, tail] = this.split(sequence);
      value = join(front, value, tail);
      known.set(sequence, value);
    }
    return value;
  }

  /** What a repetition repeats, and how often; undefined for other expressions. */
  repeated(regex: Regex): { unit: Regex; min: number; max: number } | undefined {
    const { kind, parts, min, max } = this.at(regex);
    return kind === Kind.Repeat ? { unit: parts[0] as Regex, min, max } : undefined;
  }

  /** The bytes at which the derivative may differ from that of the byte before. Read-only. */
  cuts(regex: Regex): ByteSet {
    const known = this.cutSets[regex];
    if (known) return known;
    const { kind, set, parts } = this.at(regex);
    let cuts = set ? changes(set) : new Uint32Array(8);
    if (kind === Kind.Multiple) cuts = byteRange(0x2e, 0x3a);
    else if (kind === Kind.Concat) for (const part of this.fronts(regex)) addAll(cuts, this.cuts(part));
    else if (parts.length === 1) cuts = this.cuts(parts[0] as Regex);
    else for (const part of parts) addAll(cuts, this.cuts(part));
    this.cutSets[regex] = cuts;
    return cuts;
  }

  /** The parts of a sequence with which its text may begin. */
  private fronts(regex: Regex): Regex[] {
    const fronts: Regex[] = [];
    let at = regex;
    for (let [first, rest] = this.split(at); ; [first, rest] = this.split(at)) {
      fronts.push(first);
      if (rest === EMPTY || !this.nullable(first)) return fronts;
      at = rest;
    }
  }

  /** True if intersections or complements occur: the expression may match nothing without being NOTHING. */
  hasLogic(regex: Regex): boolean {
    return ((this.traits[regex] as number) & Trait.Logic) !== 0;
  }

  /** True if counted repetitions occur. */
  hasCounts(regex: Regex): boolean {
    return ((this.traits[regex] as number) & Trait.Counts) !== 0;
  }

  /** True if divisibility occurs. */
  hasMultiples(regex: Regex): boolean {
    return ((this.traits[regex] as number) & Trait.Multiples) !== 0;
  }

  /** Frees the known derivatives; they are computed again on demand. */
  forget(): void {
    this.derivatives.clear();
  }

  /** True if the expression has no repetition: it matches finitely many texts. */
  isFinite(regex: Regex): boolean {
    return this.spine(regex).every((part) => {
      const { kind, parts } = this.at(part);
      if (kind === Kind.Not || kind === Kind.Repeat || kind === Kind.Multiple) return false;
      return parts.every((inner) => this.isFinite(inner));
    });
  }

  /** The parts of an intersection; otherwise the expression itself. */
  conditions(regex: Regex): readonly Regex[] {
    const { kind, parts } = this.at(regex);
    return kind === Kind.And ? parts : [regex];
  }

  /** The parts of an alternative; otherwise the expression itself. */
  choices(regex: Regex): readonly Regex[] {
    const { kind, parts } = this.at(regex);
    return kind === Kind.Or ? parts : [regex];
  }

  /** No text of the expression has fewer bytes. Without intersections, complements and divisibility one has as many. */
  least(regex: Regex): number {
    return this.leasts[regex] as number;
  }

  /** The longest way to an end that a text may meet: its shortest rest has at most so many bytes. Infinity: not known. */
  span(regex: Regex): number {
    const single = (part: Regex) => this.findSpan(part);
    return this.fold(regex, this.spans, single, (front, rest, tail) =>
      Math.max(this.span(front) + this.least(tail), rest),
    );
  }

  /** The excluded expression of a complement. */
  excluded(regex: Regex): Regex | undefined {
    const node = this.at(regex);
    return node.kind === Kind.Not ? node.parts[0] : undefined;
  }

  private findSpan(regex: Regex): number {
    const { kind, parts, min } = this.at(regex);
    const [first = EMPTY] = parts;
    switch (kind) {
      case Kind.Nothing:
      case Kind.Empty:
        return 0;
      case Kind.Bytes:
        return 1;
      case Kind.Or:
        return Math.max(...parts.map((part) => this.span(part)));
      case Kind.Repeat:
        return this.span(first) + Math.max(0, min - 1) * this.least(first);
      default:
        return Infinity;
    }
  }

  private isEverything(regex: Regex): boolean {
    const node = this.at(regex);
    return node.kind === Kind.Not && node.parts[0] === NOTHING;
  }

  private compute(regex: Regex, byte: number): Regex {
    const { kind, parts, set, min, max } = this.at(regex);
    const [first = NOTHING] = parts;
    switch (kind) {
      case Kind.Nothing:
      case Kind.Empty:
        return NOTHING;
      case Kind.Bytes:
        return set && hasByte(set, byte) ? EMPTY : NOTHING;
      case Kind.Concat:
        return this.deriveSequence(regex, byte);
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

  private deriveSequence(regex: Regex, byte: number): Regex {
    const choices: Regex[] = [];
    let at = regex;
    for (let [first, rest] = this.split(at); ; [first, rest] = this.split(at)) {
      choices.push(this.concat(this.derive(first, byte), rest));
      if (rest === EMPTY || !this.nullable(first)) return this.or(...choices);
      at = rest;
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
        `a regular expression grew to ${flat.size} alternatives; the bound is ${MAX_PARTS}. Simplify nested repetitions, or give fewer values`,
      );
    return [...flat].sort((a, b) => a - b);
  }

  private at(regex: Regex): Node {
    return this.nodes[regex] as Node;
  }

  private intern(key: string, node: Node): Regex {
    const ids = this.ids[(node.parts.at(-1) ?? 0) % MAPS] as Map<string, Regex>;
    const known = ids.get(key);
    if (known !== undefined) return known;
    if (this.nodes.length >= MAX_NODES)
      throw new GrammarError(
        'TOO_COMPLEX',
        '',
        `more than ${MAX_NODES} regular expressions; simplify patterns and bounds`,
      );
    let traits = traitOf(node);
    for (const part of node.parts) traits |= this.traits[part] as number;
    this.traits.push(traits);
    this.leasts.push(leastOf(node, (part) => this.least(part)));
    ids.set(key, this.nodes.length);
    return this.nodes.push(node) - 1;
  }
}

/** @throws GrammarError TOO_COMPLEX */
function encode(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  if (bytes.length <= MAX_TEXT) return bytes;
  throw new GrammarError(
    'TOO_COMPLEX',
    '',
    `a text of ${bytes.length} bytes; at most ${MAX_TEXT} are compiled`,
  );
}

const encoder = new TextEncoder();

/** How far texts are alike. */
function endOfCommon(texts: readonly Uint8Array[], from: number): number {
  const [first] = texts as readonly [Uint8Array];
  let end = first.length;
  for (const text of texts) {
    let at = from;
    while (at < end && text[at] === first[at]) at++;
    end = at;
  }
  return end;
}

function leastOf({ kind, nullable, parts, min }: Node, of: (part: Regex) => number): number {
  const leasts = parts.map(of);
  if (kind === Kind.Nothing) return Infinity;
  if (nullable) return 0;
  if (kind === Kind.Concat) return leasts.reduce((sum, least) => sum + least, 0);
  if (kind === Kind.Or) return Math.min(...leasts);
  if (kind === Kind.And) return Math.max(...leasts);
  return kind === Kind.Repeat ? min * (leasts[0] as number) : 1;
}

/** Bytes that are in the set although the byte before is not, or the reverse. */
function changes(set: ByteSet): ByteSet {
  return set.map((word, i) => word ^ ((word << 1) | (i === 0 ? word & 1 : (set[i - 1] as number) >>> 31)));
}
