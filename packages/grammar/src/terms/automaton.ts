import { GrammarError } from '../error.js';
import { addAll, type ByteSet, byteRange, hasByte } from '../regex/byte-set.js';
import type { Emptiness } from '../regex/empty.js';
import { EMPTY, NOTHING, type Regex } from '../regex/regexes.js';
import { Transitions } from '../regex/transitions.js';
import { setAt } from '../set-at.js';
import { atOnce, type Effort, type Work } from '../turns.js';
import { DONE, idOf, isRule, type Term, type Terms } from './terms.js';

/** An id of a set of (expression in progress, rest) pairs. */
export type State = number;
export const DEAD: State = 0;

interface Items {
  readonly regexes: readonly Regex[];
  readonly tails: readonly Term[];
  readonly accepting: boolean;
}

const MAX_ITEMS = 20_000;
const MAX_STATES = 2_000_000;
const MAX_ALL_ITEMS = 10_000_000; // some 300 MB
const MAX_KNOWN = 40_000_000; // bytes of transitions
const MAPS = 16;
const PART = 256; // expressions: a fraction of a millisecond

/** A deterministic automaton over bytes, built as it is walked. Its states stand for all parses of the text so far. */
export class Automaton {
  private first: State | undefined;
  /** What steps have cost so far. */
  readonly effort: Effort;
  private all = 0; // items
  private readonly states: Items[] = [{ regexes: [], tails: [], accepting: false }];
  /** In several maps: a large one grows for too long at once. */
  private readonly ids = Array.from({ length: MAPS }, () => new Map<string, State>());
  private readonly known = new Transitions();
  private readonly onlyBytes: (number | undefined)[] = [];
  private readonly emptiness: Emptiness;

  constructor(
    readonly terms: Terms,
    private readonly root: Term,
  ) {
    this.emptiness = terms.emptiness;
    this.effort = terms.regexes.effort;
  }

  /** The state before all text. */
  get start(): State {
    return this.first ?? atOnce(this.begin());
  }

  /** Makes the start in parts. */
  *begin(): Work<State> {
    this.first ??= yield* this.make([{ regex: EMPTY, tail: this.root }]);
    return this.first;
  }

  isAccepting(state: State): boolean {
    return this.items(state).accepting;
  }

  items(state: State): Items {
    return this.states[state] as Items;
  }

  step(state: State, byte: number): State {
    const known = this.known.get(state, byte);
    return known >= 0 ? known : atOnce(this.follow(state, byte));
  }

  /** `step`; -1 where it takes long: then `search` has to come first. */
  shortStep(state: State, byte: number): State | -1 {
    const known = this.known.get(state, byte);
    if (known >= 0) return known;
    const part = this.follow(state, byte).next();
    return part.done ? part.value : -1;
  }

  /** `step` in parts. */
  *search(state: State, byte: number): Work<State> {
    const known = this.known.get(state, byte);
    if (known >= 0) return known;
    yield; // `shortStep` has taken a part
    return yield* this.follow(state, byte);
  }

  /** The state with other expressions in progress; in parts. */
  *changed(state: State, change: (regex: Regex) => Regex | Work<Regex>): Work<State> {
    const { regexes, tails, accepting } = this.items(state);
    const found = new Map<Regex, Term[]>();
    for (const [i, regex] of regexes.entries()) {
      const changed = change(regex);
      push(found, typeof changed === 'number' ? changed : yield* changed, tails[i] as Term);
      if (i % PART === PART - 1) yield;
    }
    return yield* this.intern(found, accepting);
  }

  /** Frees transitions if there are many; they are found again on demand. */
  trim(): void {
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    this.terms.regexes.trim();
  }

  /** What `onlyByte` has found; undefined: it has not looked. */
  knownOnlyByte(state: State): number | -1 | undefined {
    return this.onlyBytes[state];
  }

  /** The only byte that may follow; -1 if there are none or several, or if the text may end here. In parts. */
  *onlyByte(state: State): Work<number | -1> {
    const only = yield* this.findOnlyByte(state);
    setAt(this.onlyBytes, state, only);
    return only;
  }

  private *findOnlyByte(state: State): Work<number | -1> {
    const { regexes, accepting } = this.items(state);
    if (accepting || regexes.length > 64) return -1;
    const cuts = this.cuts(regexes);
    let only = -1;
    for (let byte = 0; byte < 256; byte++) {
      if (!hasByte(cuts, byte)) continue;
      const next = this.shortStep(state, byte);
      if ((next < 0 ? yield* this.search(state, byte) : next) === DEAD) continue;
      if (only >= 0 || (byte < 255 && !hasByte(cuts, byte + 1))) return -1;
      only = byte;
    }
    return only;
  }

  /** Ends with its first part where a step takes not long. */
  private *follow(state: State, byte: number): Work<State> {
    const { regexes } = this.terms;
    const items = this.items(state);
    const pairs: { regex: Regex; tail: Term }[] = [];
    for (let i = 0; i < items.regexes.length; i++) {
      if (this.effort.endsPart()) yield;
      this.effort.spend(1);
      const item = items.regexes[i] as Regex;
      const short = regexes.shortDerive(item, byte);
      const regex = short < 0 ? yield* regexes.deriveInParts(item, byte) : short;
      if (regex === NOTHING || (this.emptiness.found(regex) ?? (yield* this.emptiness.decide(regex))))
        continue;
      pairs.push({ regex, tail: items.tails[i] as Term });
    }
    const next = pairs.length === 0 ? DEAD : yield* this.make(pairs);
    this.known.set(state, byte, this.cuts(items.regexes), next);
    return next;
  }

  private cuts(regexes: readonly Regex[]): ByteSet {
    const cuts = byteRange(0, 0);
    for (const regex of regexes) addAll(cuts, this.terms.regexes.cuts(regex));
    return cuts;
  }

  /** The state of all pairs, with what may begin at once where an expression may be empty. */
  private *make(pairs: readonly { regex: Regex; tail: Term }[]): Work<State> {
    const found = new Map<Regex, Term[]>();
    const seen = new Set<Term>();
    const open: Term[] = [];
    const add = (regex: Regex, tail: Term) => {
      if (regex !== EMPTY) push(found, regex, tail);
      if (this.terms.regexes.nullable(regex)) open.push(tail);
    };
    for (const { regex, tail } of pairs) add(regex, tail);
    for (let term = open.pop(); term !== undefined; term = open.pop()) {
      if (seen.has(term)) continue;
      seen.add(term);
      if (seen.size > MAX_ITEMS) tooMany(MAX_ITEMS, 'alternatives at one place');
      this.effort.spend(1);
      if (this.effort.endsPart()) yield;
      const slow = this.expand(term, add, open);
      if (slow) yield* slow;
    }
    return yield* this.intern(found, seen.has(DONE));
  }

  /** Work where it may take long. */
  private expand(term: Term, add: (regex: Regex, tail: Term) => void, open: Term[]): Work<void> | undefined {
    if (term === DONE) return undefined;
    const head = this.terms.head(term);
    if (head < 0) for (const part of this.terms.alternatives(term)) open.push(part);
    else if (isRule(head)) return this.call(term, open);
    else {
      const isEmpty = this.emptiness.found(idOf(head));
      if (isEmpty === undefined) return this.decide(term, add);
      if (!isEmpty) add(idOf(head), this.terms.tail(term));
    }
    return undefined;
  }

  /** @param term begins with a rule */
  private *call(term: Term, open: Term[]): Work<void> {
    const rule = idOf(this.terms.head(term));
    const body = this.terms.knownBody(rule) ?? (yield* this.terms.findBody(rule));
    open.push(yield* this.terms.join(body, this.terms.tail(term)));
  }

  /** @param term begins with an expression that may match nothing */
  private *decide(term: Term, add: (regex: Regex, tail: Term) => void): Work<void> {
    const regex = idOf(this.terms.head(term));
    if (!(yield* this.emptiness.decide(regex))) add(regex, this.terms.tail(term));
  }

  private *intern(found: Map<Regex, Term[]>, accepting: boolean): Work<State> {
    if (found.size === 0 && !accepting) return DEAD;
    const regexes = [...found.keys()].sort((a, b) => a - b);
    const tails: Term[] = [];
    for (const regex of regexes) {
      const rests = found.get(regex) as Term[];
      tails.push(rests.length === 1 ? (rests[0] as Term) : yield* this.terms.choose(rests));
      if (this.effort.endsPart()) yield;
    }
    const key = `${accepting};${regexes.join(',')};${tails.join(',')}`;
    const ids = this.ids[(regexes[0] ?? 0) % MAPS] as Map<string, State>;
    const known = ids.get(key);
    if (known !== undefined) return known;
    this.all += regexes.length;
    if (this.states.length >= MAX_STATES) tooMany(MAX_STATES, 'states');
    if (this.all > MAX_ALL_ITEMS) tooMany(MAX_ALL_ITEMS, 'alternatives in all states');
    ids.set(key, this.states.length);
    return this.states.push({ regexes, tails, accepting }) - 1;
  }
}

/** @throws GrammarError TOO_COMPLEX */
function tooMany(most: number, what: string): never {
  throw new GrammarError('TOO_COMPLEX', '', `more than ${most} ${what}; simplify the grammar`);
}

function push(into: Map<Regex, Term[]>, regex: Regex, tail: Term): void {
  const known = into.get(regex);
  if (known) known.push(tail);
  else into.set(regex, [tail]);
}
