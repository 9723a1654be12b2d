import { GrammarError } from './error.js';
import { type Automaton, DEAD, type State } from './terms/automaton.js';
import { atOnce, startInTurns } from './turns.js';
import type { Masks } from './vocabulary/masks.js';
import { setBit, type Vocabulary } from './vocabulary/vocabulary.js';

const ENDED = -1;

/** The place of one generation in a grammar. Cheap: make one per sequence. */
export class Matcher {
  /** The state after each accepted token; the first is before all. */
  private readonly states: State[];

  /** @internal */
  constructor(
    private readonly automaton: Automaton,
    private readonly masks: Masks,
    readonly vocabulary: Vocabulary,
    states?: readonly State[],
  ) {
    this.states = states ? [...states] : [automaton.start];
  }

  /** True if the text so far is a whole one: an end-of-text token may follow. */
  get isAccepting(): boolean {
    return this.state === ENDED || this.automaton.isAccepting(this.state);
  }

  /** True after an end-of-text token. */
  get isEnded(): boolean {
    return this.state === ENDED;
  }

  /** Tokens accepted so far. */
  get length(): number {
    return this.states.length - 1;
  }

  /**
   * Writes the tokens that may follow: bit `token & 31` of word `token >> 5`, [ceil(vocabulary / 32)] words; words beyond
   * are cleared. After the end only end-of-text tokens are allowed. Throws BAD_ARGUMENT if `into` is too short.
   */
  mask(into: Int32Array | Uint32Array): void {
    this.write(into, this.keptMask ?? atOnce(this.masks.find(this.state)));
  }

  /**
   * `mask` in turns of the event loop where a few milliseconds are not enough: then a promise, until which the matcher
   * must stay at its place. Rejects with the reason of `signal` at the turn after it aborts.
   */
  maskInTurns(into: Int32Array | Uint32Array, signal?: AbortSignal): Promise<void> | undefined {
    const found = this.keptMask ?? startInTurns(this.masks.find(this.state), signal);
    if (found instanceof Promise) return found.then((mask) => this.write(into, mask));
    this.write(into, found);
    return undefined;
  }

  /** The mask if it need not be found. */
  private get keptMask(): Uint32Array | undefined {
    if (this.state !== ENDED) return this.masks.kept(this.state);
    const mask = new Uint32Array(this.vocabulary.words);
    for (const token of this.vocabulary.endOfText) setBit(mask, token);
    return mask;
  }

  private write(into: Int32Array | Uint32Array, mask: Uint32Array): void {
    const { words } = this.vocabulary;
    if (into.length < words)
      throw new GrammarError(
        'BAD_ARGUMENT',
        '',
        `a mask of ${this.vocabulary.size} tokens has ${words} words; got ${into.length}`,
      );
    into.set(mask);
    into.fill(0, words);
  }

  /** True if `accept(token)` would succeed. */
  allows(token: number): boolean {
    return this.after(token) !== DEAD;
  }

  /** Goes on by `token`. Throws BAD_TOKEN, and stays as it is, if the mask excludes it. */
  accept(token: number): void {
    const next = this.after(token);
    if (next === DEAD)
      throw new GrammarError(
        'BAD_TOKEN',
        `token ${token}`,
        `not allowed after ${this.length} tokens; sample within the mask`,
      );
    this.states.push(next);
    this.automaton.trim();
  }

  /**
   * Goes on by bytes that are no whole token: the end of one that began before the grammar. Counts as one token. False,
   * and stays as it is, if they do not fit. Throws BAD_ARGUMENT for anything but bytes.
   */
  acceptBytes(bytes: Uint8Array): boolean {
    if (!(bytes instanceof Uint8Array))
      throw new GrammarError('BAD_ARGUMENT', '', 'acceptBytes takes a Uint8Array');
    const next = this.behind(bytes);
    if (next === DEAD) return false;
    this.states.push(next);
    this.automaton.trim();
    return true;
  }

  /** The bytes that must follow, whatever is sampled; at most `limit`. */
  forcedBytes(limit = 1024): Uint8Array {
    const bytes: number[] = [];
    let { state } = this;
    while (state !== ENDED && bytes.length < limit) {
      const byte = this.automaton.onlyByte(state);
      if (byte === undefined) break;
      bytes.push(byte);
      state = this.automaton.step(state, byte);
    }
    return Uint8Array.from(bytes);
  }

  /**
   * Tokens that need not be sampled: the forced bytes as longest tokens. Bytes left at the end, which may belong to a longer
   * token, are not included.
   */
  forced(): number[] {
    const bytes = this.forcedBytes();
    const tokens: number[] = [];
    for (let at = 0; at < bytes.length; ) {
      const match = this.vocabulary.longestMatch(bytes, at);
      if (!match || match.isOpen) break;
      tokens.push(match.token);
      at += match.length;
    }
    return tokens;
  }

  /** Takes back the last `tokens` tokens. */
  rollback(tokens: number): void {
    if (!Number.isInteger(tokens) || tokens < 0 || tokens > this.length)
      throw new GrammarError('BAD_ARGUMENT', '', `cannot take back ${tokens} of ${this.length} tokens`);
    this.states.length -= tokens;
  }

  /** An independent matcher at the same place. */
  clone(): Matcher {
    return new Matcher(this.automaton, this.masks, this.vocabulary, this.states);
  }

  private get state(): State {
    return this.states.at(-1) as State;
  }

  private after(token: number): State {
    const bytes = this.vocabulary.bytesOf(token);
    if (this.vocabulary.endOfText.includes(token)) return this.isAccepting ? ENDED : DEAD;
    return bytes.length === 0 ? DEAD : this.behind(bytes);
  }

  private behind(bytes: Uint8Array): State {
    let { state } = this;
    if (state === ENDED) return DEAD;
    for (const byte of bytes) {
      state = this.automaton.step(state, byte);
      if (state === DEAD) return DEAD;
    }
    return state;
  }
}
