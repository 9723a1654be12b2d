import { type Kinds, OTHER, type Suffixes } from './kinds.js';

const PART = 1 << 16; // nodes: a fraction of a millisecond

/**
 * Tokens as a flat trie, in preorder. Node i has the byte `bytes[i]`; its subtree ends before `ends[i]`; it is at
 * `depths[i]` (first bytes: 0); `tokens[i]` is the token that ends here, or -1.
 */
export interface Trie {
  readonly bytes: Uint8Array;
  readonly ends: Int32Array;
  readonly depths: Int32Array;
  readonly tokens: Int32Array;
  /** [nodes + 1] tokens before the node: those of its subtree are `order[firsts[node]]` to `order[firsts[end] - 1]`. */
  readonly firsts: Int32Array;
  /** Tokens as the trie has them. */
  readonly order: Int32Array;
  /** Kinds of the whole tokens of a subtree, and the most characters of one. */
  readonly kinds: Int32Array;
  readonly lengths: Int32Array;
  /** [nodes + 1] the first node from this one on with OTHER among its kinds; the number of nodes if there is none. */
  readonly others: Int32Array;
  /** The same of what follows the node's byte. */
  readonly restKinds: Int32Array;
  readonly restLengths: Int32Array;
}

const ARRAYS = [
  'ends',
  'depths',
  'tokens',
  'firsts',
  'kinds',
  'lengths',
  'restKinds',
  'restLengths',
] as const;
type NodeArrays = { readonly [Name in (typeof ARRAYS)[number]]: Int32Array };

/** Makes one array after the other: each takes a millisecond or two. */
function* eachArray(make: (name: keyof NodeArrays) => Int32Array): Generator<void, NodeArrays> {
  const arrays: [string, Int32Array][] = [];
  for (const name of ARRAYS) {
    arrays.push([name, make(name)]);
    yield;
  }
  return Object.fromEntries(arrays) as NodeArrays;
}

/** Builds a trie of tokens added in the order of their bytes, without duplicates or empty ones. */
export class TrieBuilder {
  private readonly bytes: Uint8Array;
  private readonly of: NodeArrays;
  private readonly order: Int32Array;
  private nodes = 0;
  private added = 0; // tokens
  /** The nodes of the token before, by depth. */
  private readonly path: number[] = [];

  private constructor(capacity: number, tokens: number, of: NodeArrays) {
    this.bytes = new Uint8Array(capacity);
    this.order = new Int32Array(tokens);
    this.of = of;
  }

  /**
   * Yields where other work may come between.
   *
   * @param capacity most nodes: the bytes of all tokens
   * @param tokens most tokens
   */
  static *make(capacity: number, tokens: number): Generator<void, TrieBuilder> {
    const arrays = yield* eachArray(() => new Int32Array(capacity + 1));
    return new TrieBuilder(capacity, tokens, arrays);
  }

  add(token: number, text: Uint8Array, suffixes: Suffixes): void {
    this.close(this.common(text));
    for (let depth = this.path.length; depth < text.length; depth++) this.open(depth, text[depth] as number);
    this.of.tokens[this.nodes - 1] = token;
    this.order[this.added++] = token;
    this.path.forEach((node, depth) => this.note(node, suffixes, depth + 1));
  }

  /** The trie; yields where other work may come between. */
  *build(): Generator<void, Trie> {
    this.close(0);
    const { nodes, added } = this;
    this.of.firsts[nodes] = added;
    return {
      ...(yield* eachArray((name) => this.of[name].slice(0, name === 'firsts' ? nodes + 1 : nodes))),
      others: yield* this.others(),
      bytes: this.bytes.slice(0, nodes),
      order: this.order.slice(0, added),
    };
  }

  private *others(): Generator<void, Int32Array> {
    const others = new Int32Array(this.nodes + 1).fill(this.nodes);
    for (let node = this.nodes - 1; node >= 0; node--) {
      if (node % PART === 0) yield;
      const isOther = ((this.of.kinds[node] as Kinds) & OTHER) !== 0;
      others[node] = isOther ? node : (others[node + 1] as number);
    }
    return others;
  }

  /** The bytes that `text` shares with the token before. */
  private common(text: Uint8Array): number {
    let depth = 0;
    while (depth < this.path.length && this.bytes[this.path[depth] as number] === text[depth]) depth++;
    return depth;
  }

  /** Ends the subtrees at `depth` and below. */
  private close(depth: number): void {
    while (this.path.length > depth) this.of.ends[this.path.pop() as number] = this.nodes;
  }

  private open(depth: number, byte: number): void {
    const node = this.nodes++;
    this.path.push(node);
    this.bytes[node] = byte;
    this.of.depths[node] = depth;
    this.of.tokens[node] = -1;
    this.of.firsts[node] = this.added;
  }

  private note(node: number, { kinds, lengths }: Suffixes, from: number): void {
    const { of } = this;
    of.kinds[node] = (of.kinds[node] as Kinds) | (kinds[0] as Kinds);
    of.lengths[node] = Math.max(of.lengths[node] as number, lengths[0] as number);
    of.restKinds[node] = (of.restKinds[node] as Kinds) | (kinds[from] as Kinds);
    of.restLengths[node] = Math.max(of.restLengths[node] as number, lengths[from] as number);
  }
}
