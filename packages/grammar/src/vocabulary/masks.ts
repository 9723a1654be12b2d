import type { Regex } from '../regex/regexes.js';
import { type Automaton, DEAD, type State } from '../terms/automaton.js';
import type { Trie } from './trie.js';
import { setBit, type Vocabulary } from './vocabulary.js';

const MAX_CACHED = 256; // 5 MB with 151,936 tokens

/** The masks of one grammar over one vocabulary. */
export class Masks {
  private readonly cache = new Map<State, Uint32Array>();
  private readonly rows: Int32Array[] = [];

  constructor(
    private readonly automaton: Automaton,
    private readonly vocabulary: Vocabulary,
    private readonly plainUnits: ReadonlySet<Regex>,
  ) {}

  /** The tokens that may follow in `state`; read-only. */
  of(state: State): Uint32Array {
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

  private compute(state: State): Uint32Array {
    this.automaton.trim();
    const plain = this.plainCharacters(state);
    const mask =
      plain > 0 ? this.vocabulary.plainMask(plain).slice() : new Uint32Array(this.vocabulary.words);
    this.walk(plain > 0 ? this.vocabulary.rest : this.vocabulary.trie, state, mask);
    if (this.automaton.isAccepting(state)) for (const token of this.vocabulary.endOfText) setBit(mask, token);
    for (const [token, twins] of this.vocabulary.twins)
      if (((mask[token >>> 5] as number) >>> (token & 31)) & 1) for (const twin of twins) setBit(mask, twin);
    return mask;
  }

  /**
   * The n for which the plain tokens allowed are exactly those of up to n characters; 0 if there is no such n. A state
   * within a string of the form (character){m,n} has it, also if the string must differ from finitely many others.
   */
  private plainCharacters(state: State): number {
    const { regexes } = this.automaton.items(state);
    let most = 0;
    for (const regex of regexes) most = Math.max(most, this.leadingCharacters(regex));
    return most >= this.vocabulary.longest || regexes.length === 1 ? most : 0;
  }

  private leadingCharacters(regex: Regex): number {
    const all = this.automaton.terms.regexes;
    const conditions = all.conditions(regex);
    let most = 0;
    for (const condition of conditions) {
      const repeat = all.leadingRepeat(condition);
      const excluded = all.excluded(condition);
      if (repeat && this.plainUnits.has(repeat.unit)) most = repeat.max;
      else if (excluded === undefined || !all.isFinite(excluded)) return 0;
    }
    return conditions.length > 1 && most !== Infinity ? 0 : most;
  }

  private walk(trie: Trie, start: State, mask: Uint32Array): void {
    const { bytes, ends, depths, tokens } = trie;
    const { automaton, rows } = this;
    rows[0] = automaton.row(start);
    const states = [start];
    for (let node = 0; node < bytes.length; ) {
      const depth = depths[node] as number;
      const byte = bytes[node] as number;
      let next = (rows[depth] as Int32Array)[byte] as State;
      if (next < 0) next = automaton.step(states[depth] as State, byte);
      if (next === DEAD) {
        node = ends[node] as number;
        continue;
      }
      const token = tokens[node] as number;
      if (token >= 0) mask[token >>> 5] = (mask[token >>> 5] as number) | (1 << (token & 31));
      states[depth + 1] = next;
      if ((ends[node] as number) > node + 1) rows[depth + 1] = automaton.row(next);
      node++;
    }
  }
}
