import { GrammarError } from '../error.js';
import { Kind, type Node, type Regex } from './node.js';

/** What occurs in an expression, as bits. */
export const Trait = {
  /** Intersections or complements: it may match nothing without being NOTHING. */
  Logic: 1,
  /** Counted repetitions. */
  Counts: 2,
  /** Divisibility. */
  Multiples: 4,
  /** Anything that may match infinitely many texts. */
  Endless: 8,
} as const;

const MAX_NODES = 1_000_000;
const MAPS = 16;
const MAX_WEIGHT = 1_000_000;

/** The expressions that are known, each once. */
export class Nodes {
  private readonly nodes: Node[];
  /** In several maps: a large one grows for too long at once. */
  private readonly ids: readonly Map<string, Regex>[];
  /** By expression: bits of `Trait`. */
  private readonly traits: number[];
  private readonly leasts: number[];
  private readonly weights: number[];
  private readonly lengths: number[];

  constructor(base?: Nodes) {
    this.nodes = [...(base?.nodes ?? [])];
    this.ids = Array.from({ length: MAPS }, (_, i) => new Map(base?.ids[i]));
    this.traits = [...(base?.traits ?? [])];
    this.leasts = [...(base?.leasts ?? [])];
    this.weights = [...(base?.weights ?? [])];
    this.lengths = [...(base?.lengths ?? [])];
    if (base) return;
    this.intern('0', { kind: Kind.Nothing, nullable: false, parts: [], min: 0, max: 0 });
    this.intern('1', { kind: Kind.Empty, nullable: true, parts: [], min: 0, max: 0 });
  }

  get size(): number {
    return this.nodes.length;
  }

  at(regex: Regex): Node {
    return this.nodes[regex] as Node;
  }

  /** Whether the trait occurs in the expression. */
  has(regex: Regex, trait: number): boolean {
    return ((this.traits[regex] as number) & trait) !== 0;
  }

  /** No text of the expression has fewer bytes. Without intersections, complements and divisibility one has as many. */
  least(regex: Regex): number {
    return this.leasts[regex] as number;
  }

  /** At most as many expressions have a part in a derivative; capped. */
  weight(regex: Regex): number {
    return this.weights[regex] as number;
  }

  /** At most as many parts has a derivative that is a sequence; capped. */
  length(regex: Regex): number {
    return this.lengths[regex] as number;
  }

  /** The expression of a node; `key` names its content. */
  intern(key: string, node: Node): Regex {
    const ids = this.ids[(node.parts.at(-1) ?? 0) % MAPS] as Map<string, Regex>;
    const known = ids.get(key);
    if (known !== undefined) return known;
    if (this.nodes.length >= MAX_NODES)
      throw new GrammarError(
        'TOO_COMPLEX',
        '',
        `more than ${MAX_NODES} regular expressions; simplify patterns and bounds`,
      );
    let traits = traitsOf(node);
    for (const part of node.parts) traits |= this.traits[part] as number;
    this.traits.push(traits);
    this.leasts.push(leastOf(node, (part) => this.least(part)));
    this.weights.push(Math.min(this.weightOf(node), MAX_WEIGHT));
    this.lengths.push(Math.min(this.lengthOf(node), MAX_WEIGHT));
    ids.set(key, this.nodes.length);
    return this.nodes.push(node) - 1;
  }

  private weightOf({ kind, parts }: Node): number {
    const [first, tail] = parts as readonly [Regex, Regex];
    if (kind === Kind.Concat)
      return 1 + this.weight(first) + this.length(first) + (this.at(first).nullable ? this.weight(tail) : 0);
    if (kind === Kind.Repeat) return 1 + this.weight(first) + this.length(first);
    let weight = 1;
    for (const part of parts) weight += this.weight(part);
    return weight;
  }

  private lengthOf({ kind, parts }: Node): number {
    const [first, tail] = parts as readonly [Regex, Regex];
    if (kind === Kind.Concat) return this.length(first) + this.length(tail);
    let length = 0;
    for (const part of parts) length = Math.max(length, this.length(part));
    return length + 1;
  }
}

function traitsOf({ kind, min, max }: Node): number {
  if (kind === Kind.And) return Trait.Logic;
  if (kind === Kind.Not) return Trait.Logic | Trait.Endless;
  if (kind === Kind.Multiple) return Trait.Multiples | Trait.Endless;
  if (kind !== Kind.Repeat) return 0;
  return Trait.Endless | (min > 0 || max < Infinity ? Trait.Counts : 0);
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
