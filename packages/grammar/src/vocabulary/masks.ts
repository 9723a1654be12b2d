import { FarBounds } from '../regex/counts.js';
import { setAt } from '../set-at.js';
import { type Automaton, DEAD, type State } from '../terms/automaton.js';
import type { Work } from '../turns.js';
import { ALL, type Kinds, OTHER } from './kinds.js';
import { type Loop, Loops } from './loops.js';
import { setBit, type Vocabulary } from './vocabulary.js';

const MAX_CACHED = 256; // 5 MB with 151,936 tokens
const SMALL_SUBTREE = 32; // nodes
const MAX_NODES = 8192; // of the trie in a part

/** The masks of one grammar over one vocabulary. */
export class Masks {
  private readonly cache = new Map<State, Uint32Array>();
  /** By state: one with the same mask. */
  private readonly same: (State | undefined)[] = [];
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

  /** The mask of `place` if it is kept: the tokens that may follow; read-only. */
  kept(place: State): Uint32Array | undefined {
    const state = this.same[place];
    const known = state === undefined ? undefined : this.cache.get(state);
    if (known) {
      this.cache.delete(state as State); // kept in order of use
      this.cache.set(state as State, known);
    }
    return known;
  }

  /** The mask of `place`, in parts; read-only. */
  *find(place: State): Work<Uint32Array> {
    const state =
      this.same[place] ?? (yield* this.automaton.changed(place, (regex) => this.bounds.without(regex)));
    setAt(this.same, place, state);
    const kept = this.kept(place);
    if (kept) return kept;
    const mask = yield* this.compute(state);
    if (this.cache.size >= MAX_CACHED) this.cache.delete(this.cache.keys().next().value as State);
    this.cache.set(state, mask);
    return mask;
  }

  private *compute(state: State): Work<Uint32Array> {
    this.automaton.trim();
    const loop = yield* this.loops.of(state);
    const mask =
      loop.kinds === 0
        ? new Uint32Array(this.vocabulary.words)
        : this.vocabulary.maskOf(loop.kinds, loop.most).slice();
    yield* this.walk(state, loop, mask);
    if (this.automaton.isAccepting(state)) for (const token of this.vocabulary.endOfText) setBit(mask, token);
    for (const [token, twins] of this.vocabulary.twins)
      if (((mask[token >>> 5] as number) >>> (token & 31)) & 1) for (const twin of twins) setBit(mask, twin);
    return mask;
  }

  /** Adds the tokens that may follow `start`, but those in its `loop`: they are in the mask. */
  private *walk(start: State, loop: Loop, mask: Uint32Array): Work<void> {
    const { bytes, ends, depths, tokens, kinds, lengths, others } = this.vocabulary.trie;
    const isPlain = loop.kinds === ALL && loop.most >= this.vocabulary.deepest;
    const next = (node: number) => (isPlain ? (others[node] as number) : node);
    const states = [start];
    let passed = 0;
    for (let node = next(0); node < bytes.length; ) {
      if (++passed % MAX_NODES === 0) yield;
      const end = ends[node] as number;
      if (((kinds[node] as Kinds) & ~loop.kinds) === 0 && (lengths[node] as number) <= loop.most) {
        node = next(end);
        continue;
      }
      const depth = depths[node] as number;
      const before = states[depth] as State;
      if (this.automaton.effort.endsPart()) yield;
      const state = this.automaton.shortStep(before, bytes[node] as number);
      if (state < 0) {
        yield* this.automaton.search(before, bytes[node] as number);
      } else if (state === DEAD) {
        node = next(end);
      } else if (
        this.mayBeLoop(node, end) &&
        this.fits(node, this.loops.found(state) ?? (yield* this.loops.of(state)))
      ) {
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

  /** False where what follows the node's byte is in no loop; nor for small subtrees: walking them costs less. */
  private mayBeLoop(node: number, end: number): boolean {
    return end - node >= SMALL_SUBTREE && ((this.vocabulary.trie.restKinds[node] as Kinds) & OTHER) === 0;
  }

  /** True if all that follows the node's byte is in the loop. */
  private fits(node: number, loop: Loop): boolean {
    const { restKinds, restLengths } = this.vocabulary.trie;
    return ((restKinds[node] as Kinds) & ~loop.kinds) === 0 && (restLengths[node] as number) <= loop.most;
  }

  private addSubtree(node: number, end: number, mask: Uint32Array): void {
    const { firsts, order } = this.vocabulary.trie;
    const last = firsts[end] as number;
    for (let i = firsts[node] as number; i < last; i++) setBit(mask, order[i] as number);
  }
}
