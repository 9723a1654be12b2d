import { GrammarError } from './error.js';
import { type Automaton, DEAD, type State } from './terms/automaton.js';
import { atOnce, startInTurns, type Work } from './turns.js';
import type { Masks } from './vocabulary/masks.js';
import { setBit, type Vocabulary } from './vocabulary/vocabulary.js';

const ENDED = -1;
const MAX_FORCED = 256; // bytes of forced tokens
const SHORT = 1024; // units of effort: steps of one token at once

/** The place of one generation in a grammar. Cheap: make one per sequence. */
export class Matcher {
  /** The state after each accepted token; the first is before all. */
  private readonly states: State[];
  /** The last accepted tokens, where their states take long to find: they are found when they are needed. */
  private later: Uint8Array[] = [];

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
    return this.states.length - 1 + this.later.length;
  }

  /** True if `settle` has nothing to do. */
  get isSettled(): boolean {
    return this.later.length === 0;
  }

  /**
   * Finds, in turns of the event loop, the place after tokens that `accept` took without looking: a promise, until which the
   * matcher must stay as it is. Undefined where it is known. Rejects with the reason of `signal` at the turn after it aborts.
   */
  settle(signal?: AbortSignal): Promise<void> | undefined {
    const found = this.isSettled ? undefined : startInTurns(this.findState(), signal);
    return found instanceof Promise ? found.then(() => undefined) : undefined;
  }

  /**
   * Writes the tokens that may follow: bit `token & 31` of word `token >> 5`, [ceil(vocabulary / 32)] words; words beyond
   * are cleared. After the end only end-of-text tokens are allowed. Throws BAD_ARGUMENT if `into` is too short.
   */
  mask(into: Int32Array | Uint32Array): void {
    this.write(into, this.keptMask ?? atOnce(this.findMask()));
  }

  /**
   * `mask` in turns of the event loop where a few milliseconds are not enough: then a promise, until which the matcher
   * must stay at its place. Rejects with the reason of `signal` at the turn after it aborts.
   */
  maskInTurns(into: Int32Array | Uint32Array, signal?: AbortSignal): Promise<void> | undefined {
    const found = this.keptMask ?? startInTurns(this.findMask(), signal);
    if (found instanceof Promise) return found.then((mask) => this.write(into, mask));
    this.write(into, found);
    return undefined;
  }

  /** @internal The mask, in parts. */
  *findMask(): Work<Uint32Array> {
    const state = this.isSettled ? this.state : yield* this.findState();
    return this.keptMask ?? (yield* this.masks.find(state));
  }

  /** The mask if it need not be found. */
  private get keptMask(): Uint32Array | undefined {
    if (!this.isSettled) return undefined;
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
    this.vocabulary.needToken(token);
    return this.isInMask(token) ?? this.after(token) !== DEAD;
  }

  /**
   * Goes on by `token`. Throws BAD_TOKEN, and stays as it is, if the mask excludes it. Where the mask is at hand and the
   * place after the token takes long to find, it is found later: `settle`.
   */
  accept(token: number): void {
    const { state } = this;
    const bytes = this.vocabulary.bytesOf(token);
    const short = state === ENDED || this.isEnd(token) ? DEAD : this.shortBehind(state, bytes);
    if (short < 0 && this.isInMask(token)) {
      this.later.push(bytes);
      return;
    }
    const next = short > 0 ? short : this.after(token);
    if (next === DEAD) throw this.badToken(`token ${token}`);
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
    const next = atOnce(this.behind(this.state, bytes));
    if (next === DEAD) return false;
    this.states.push(next);
    this.automaton.trim();
    return true;
  }

  /** The bytes that must follow, whatever is sampled; at most `limit`. */
  forcedBytes(limit = 1024): Uint8Array {
    return atOnce(this.findForced(limit));
  }

  /** @internal `forcedBytes` in parts. */
  *findForced(limit: number): Work<Uint8Array> {
    const bytes: number[] = [];
    let state = this.isSettled ? this.state : yield* this.findState();
    while (state !== ENDED && bytes.length < limit) {
      const byte = this.automaton.knownOnlyByte(state) ?? (yield* this.automaton.onlyByte(state));
      if (byte < 0) break;
      bytes.push(byte);
      const next = this.automaton.shortStep(state, byte);
      state = next < 0 ? yield* this.automaton.search(state, byte) : next;
    }
    return Uint8Array.from(bytes);
  }

  /**
   * Tokens that need not be sampled: up to 256 forced bytes as longest tokens. Bytes left at the end, which may belong to a
   * longer token, are not included.
   */
  forced(): number[] {
    return this.tokensOf(this.forcedBytes(MAX_FORCED));
  }

  /**
   * `forced` in turns of the event loop where a few milliseconds are not enough: then a promise, until which the matcher must
   * stay at its place. Rejects with the reason of `signal` at the turn after it aborts.
   */
  forcedInTurns(signal?: AbortSignal): number[] | Promise<number[]> {
    const found = startInTurns(this.findForced(MAX_FORCED), signal);
    return found instanceof Promise ? found.then((bytes) => this.tokensOf(bytes)) : this.tokensOf(found);
  }

  private tokensOf(bytes: Uint8Array): number[] {
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
    const unknown = Math.min(tokens, this.later.length);
    this.later.length -= unknown;
    this.states.length -= tokens - unknown;
  }

  /** An independent matcher at the same place. */
  clone(): Matcher {
    const copy = new Matcher(this.automaton, this.masks, this.vocabulary, this.states);
    copy.later = [...this.later];
    return copy;
  }

  private get state(): State {
    return this.isSettled ? (this.states.at(-1) as State) : atOnce(this.findState());
  }

  /** @internal The state, in parts. */
  *findState(): Work<State> {
    let state = this.states.at(-1) as State;
    for (let bytes = this.later[0]; bytes; bytes = this.later[0]) {
      state = yield* this.behind(state, bytes);
      if (state === DEAD) throw this.badToken('a token');
      this.later.shift();
      this.states.push(state);
    }
    return state;
  }

  private isEnd(token: number): boolean {
    return this.vocabulary.endOfText.includes(token);
  }

  /** Whether the mask has a token; undefined where the mask is not at hand. */
  private isInMask(token: number): boolean | undefined {
    const mask = this.keptMask;
    return mask && (((mask[token >>> 5] as number) >>> (token & 31)) & 1) === 1;
  }

  private after(token: number): State {
    const bytes = this.vocabulary.bytesOf(token);
    if (this.isEnd(token)) return this.isAccepting ? ENDED : DEAD;
    return bytes.length === 0 ? DEAD : atOnce(this.behind(this.state, bytes));
  }

  private *behind(from: State, bytes: Uint8Array): Work<State> {
    let state = from === ENDED ? DEAD : from;
    for (const byte of bytes) {
      if (state === DEAD) break;
      state = yield* this.automaton.search(state, byte);
    }
    return state;
  }

  /** The state behind bytes; -1 where it takes long to find. */
  private shortBehind(from: State, bytes: Uint8Array): State | -1 {
    const { automaton } = this;
    const most = automaton.effort.spent + SHORT;
    let state = bytes.length === 0 ? DEAD : from;
    for (const byte of bytes) {
      state = automaton.effort.spent > most ? -1 : automaton.shortStep(state, byte);
      if (state <= DEAD) break;
    }
    return state;
  }

  private badToken(token: string): GrammarError {
    return new GrammarError(
      'BAD_TOKEN',
      token,
      `not allowed after ${this.length} tokens; sample within the mask`,
    );
  }
}
