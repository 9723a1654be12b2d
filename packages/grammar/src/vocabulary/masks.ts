import { FarBounds } from '../regex/counts.js';
import { type Automaton, DEAD, type State } from '../terms/automaton.js';
import { ALL, type Kinds, OTHER } from './kinds.js';
import { type Loop, Loops } from './loops.js';
import { setBit, type Vocabulary } from './vocabulary.js';

const MAX_CACHED = 256; // 5 MB with 151,936 tokens
const SMALL_SUBTREE = 32; // nodes

/** The masks of one grammar over one vocabulary. */
export class Masks {
  private readonly cache = new Map<State, Uint32Array>();
  /** By state: one with the same mask. */
  private readonly same: State[] = [];
  private readonly loops: Loops;
  private readonly bounds: FarBounds;

  constructor(
    private readonly automaton: Automaton,
    private readonly vocabulary: Vocabulary,
  ) {
    this.loops = new Loops(automaton);
    this.bounds = new FarBounds(automaton.terms.regexes, vocabulary.deepest, (unit) =>
      this.loops.isAny(unit),
    );
  }

  /** The tokens that may follow in `state`; read-only. */
  of(place: State): Uint32Array {
    const state = this.withoutFarBounds(place);
    const known = this.cache.get(state);
    if (known) {
      this.cache.delete(state); // kept in order of use
      this.cache.set(state, known);
      return known;
    }
    const mask = this.compute(state);
    if (this.cache.size >= MAX_CACHED) this.cache.delete(this.cache.keys().next().value as State);
    this.cache.set(state, mask);
    return mask;
  }

  private withoutFarBounds(place: State): State {
    const known = this.same[place];
    if (known !== undefined) return known;
    const state = this.automaton.changed(place, (regex) => this.bounds.without(regex));
    this.same[place] = state;
    return state;
  }

  private compute(state: State): Uint32Array {
    this.automaton.trim();
    const loop = this.loops.of(state);
    const mask =
      loop.kinds === 0
        ? new Uint32Array(this.vocabulary.words)
        : this.vocabulary.maskOf(loop.kinds, loop.most).slice();
    this.walk(state, loop, mask);
    if (this.automaton.isAccepting(state)) for (const token of this.vocabulary.endOfText) setBit(mask, token);
    for (const [token, twins] of this.vocabulary.twins)
      if (((mask[token >>> 5] as number) >>> (token & 31)) & 1) for (const twin of twins) setBit(mask, twin);
    return mask;
  }

  /** Adds the tokens that may follow `start`, but those in its `loop`: they are in the mask. */
  private walk(start: State, loop: Loop, mask: Uint32Array): void {
    const { bytes, ends, depths, tokens, kinds, lengths, others } = this.vocabulary.trie;
    const isPlain = loop.kinds === ALL && loop.most >= this.vocabulary.deepest;
    const next = (node: number) => (isPlain ? (others[node] as number) : node);
    const states = [start];
    for (let node = next(0); node < bytes.length; ) {
      const end = ends[node] as number;
      if (((kinds[node] as Kinds) & ~loop.kinds) === 0 && (lengths[node] as number) <= loop.most) {
        node = next(end);
        continue;
      }
      const depth = depths[node] as number;
      const state = this.automaton.step(states[depth] as State, bytes[node] as number);
      if (state === DEAD) {
        node = next(end);
      } else if (this.isWithinLoop(node, end, state)) {
        this.addSubtree(node, end, mask);
        node = next(end);
      } else {
        const token = tokens[node] as number;
        if (token >= 0) setBit(mask, token);
        states[depth + 1] = state;
        node = next(node + 1);
      }
    }
  }

  /** True if all that follows the node's byte is in a loop of `state`. Small subtrees are not asked: walking them costs less. */
  private isWithinLoop(node: number, end: number, state: State): boolean {
    if (end - node < SMALL_SUBTREE) return false;
    const { restKinds, restLengths } = this.vocabulary.trie;
    const kinds = restKinds[node] as Kinds;
    if ((kinds & OTHER) !== 0) return false;
    const loop = this.loops.of(state);
    return (kinds & ~loop.kinds) === 0 && (restLengths[node] as number) <= loop.most;
  }

  private addSubtree(node: number, end: number, mask: Uint32Array): void {
    const { firsts, order } = this.vocabulary.trie;
    const last = firsts[end] as number;
    for (let i = firsts[node] as number; i < last; i++) setBit(mask, order[i] as number);
  }
}
