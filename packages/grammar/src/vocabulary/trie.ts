import { type Kinds, OTHER, type Suffixes } from './kinds.js';

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

/** Builds a trie of tokens added in the order of their bytes, without duplicates or empty ones. */
export class TrieBuilder {
  private readonly bytes: Uint8Array;
  private readonly of: NodeArrays;
  private readonly order: number[] = [];
  private nodes = 0;
  /** The nodes of the token before, by depth. */
  private readonly path: number[] = [];

  /** @param capacity most nodes: the bytes of all tokens */
  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
    const arrays = ARRAYS.map((name) => [name, new Int32Array(capacity + 1)]);
    this.of = Object.fromEntries(arrays) as NodeArrays;
  }

  add(token: number, text: Uint8Array, suffixes: Suffixes): void {
    this.close(this.common(text));
    for (let depth = this.path.length; depth < text.length; depth++) this.open(depth, text[depth] as number);
    this.of.tokens[this.nodes - 1] = token;
    this.order.push(token);
    this.path.forEach((node, depth) => this.note(node, suffixes, depth + 1));
  }

  build(): Trie {
    this.close(0);
    const { nodes } = this;
    this.of.firsts[nodes] = this.order.length;
    const parts = ARRAYS.map((name) => [name, this.of[name].slice(0, name === 'firsts' ? nodes + 1 : nodes)]);
    return {
      ...(Object.fromEntries(parts) as NodeArrays),
      others: this.others(),
      bytes: this.bytes.slice(0, nodes),
      order: Int32Array.from(this.order),
    };
  }

  private others(): Int32Array {
    const others = new Int32Array(this.nodes + 1).fill(this.nodes);
    for (let node = this.nodes - 1; node >= 0; node--) {
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
    this.of.firsts[node] = this.order.length;
  }

  private note(node: number, { kinds, lengths }: Suffixes, from: number): void {
    const { of } = this;
    of.kinds[node] = (of.kinds[node] as Kinds) | (kinds[0] as Kinds);
    of.lengths[node] = Math.max(of.lengths[node] as number, lengths[0] as number);
    of.restKinds[node] = (of.restKinds[node] as Kinds) | (kinds[from] as Kinds);
    of.restLengths[node] = Math.max(of.restLengths[node] as number, lengths[from] as number);
  }
}
