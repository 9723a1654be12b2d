import { GrammarError } from '../error.js';
import { addAll, type ByteSet, byteRange, hasByte } from '../regex/byte-set.js';
import type { Emptiness } from '../regex/empty.js';
import { EMPTY, NOTHING, type Regex } from '../regex/regexes.js';
import { Transitions } from '../regex/transitions.js';
import type { Work } from '../turns.js';
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
const MAX_KNOWN = 40_000_000; // bytes of transitions

/** A deterministic automaton over bytes, built as it is walked. Its states stand for all parses of the text so far. */
export class Automaton {
  readonly start: State;
  /** What short steps met and no search has decided: whether texts can go on so. */
  private readonly undecided = new Set<Regex>();
  /** Expressions and terms that steps have looked at so far. */
  effort = 0;
  private readonly states: Items[] = [{ regexes: [], tails: [], accepting: false }];
  private readonly ids = new Map<string, State>();
  private readonly known = new Transitions();
  private readonly emptiness: Emptiness;

  constructor(
    readonly terms: Terms,
    root: Term,
  ) {
    this.emptiness = terms.emptiness;
    this.start = this.make([{ regex: EMPTY, tail: root }]);
  }

  isAccepting(state: State): boolean {
    return this.items(state).accepting;
  }

  items(state: State): Items {
    return this.states[state] as Items;
  }

  step(state: State, byte: number): State {
    const known = this.known.get(state, byte);
    return known >= 0 ? known : this.follow(state, byte);
  }

  /** `step`; -1 where a search has to come before it. */
  shortStep(state: State, byte: number): State {
    const known = this.known.get(state, byte);
    if (known >= 0) return known;
    const { regexes } = this.items(state);
    const isDecided = (regex: Regex) =>
      this.emptiness.found(this.terms.regexes.derive(regex, byte)) !== undefined;
    return regexes.every(isDecided) ? this.follow(state, byte, true) : -1;
  }

  /** Searches, in parts, for what `shortStep` needs. */
  *search(state: State, byte: number): Work<void> {
    for (const regex of this.items(state).regexes)
      yield* this.emptiness.decide(this.terms.regexes.derive(regex, byte));
    for (const regex of [...this.undecided]) {
      yield* this.emptiness.decide(regex);
      this.undecided.delete(regex);
    }
  }

  /** The state with other expressions in progress; in parts. */
  *changed(state: State, change: (regex: Regex) => Regex | Work<Regex>): Work<State> {
    const { regexes, tails, accepting } = this.items(state);
    const found = new Map<Regex, Term[]>();
    for (const [i, regex] of regexes.entries()) {
      const changed = change(regex);
      push(found, typeof changed === 'number' ? changed : yield* changed, tails[i] as Term);
    }
    return this.intern(found, accepting);
  }

  /** Frees transitions if there are many; they are found again on demand. */
  trim(): void {
    if (this.known.size < MAX_KNOWN) return;
    this.known.clear();
    this.terms.regexes.forget();
  }

  /** The only byte that may follow; undefined if there are none or several, or if the text may end here. */
  onlyByte(state: State): number | undefined {
    const { regexes, accepting } = this.items(state);
    if (accepting || regexes.length > 64) return undefined;
    const cuts = this.cuts(regexes);
    let only: number | undefined;
    for (let byte = 0; byte < 256; byte++) {
      if (!hasByte(cuts, byte) || this.step(state, byte) === DEAD) continue;
      if (only !== undefined || (byte < 255 && !hasByte(cuts, byte + 1))) return undefined;
      only = byte;
    }
    return only;
  }

  /** @param isShort -1 where a search has to come first */
  private follow(state: State, byte: number, isShort = false): State {
    const { regexes, tails } = this.items(state);
    this.effort += regexes.length;
    const pairs: { regex: Regex; tail: Term }[] = [];
    for (let i = 0; i < regexes.length; i++) {
      const regex = this.terms.regexes.derive(regexes[i] as Regex, byte);
      if (regex !== NOTHING && !this.emptiness.isEmpty(regex)) pairs.push({ regex, tail: tails[i] as Term });
    }
    const next = pairs.length === 0 ? DEAD : this.make(pairs, isShort);
    if (next < 0) return next;
    this.known.set(state, byte, this.cuts(regexes), next);
    return next;
  }

  private cuts(regexes: readonly Regex[]): ByteSet {
    const cuts = byteRange(0, 0);
    for (const regex of regexes) addAll(cuts, this.terms.regexes.cuts(regex));
    return cuts;
  }

  /** The state of all pairs, with what may begin at once where an expression may be empty. */
  private make(pairs: readonly { regex: Regex; tail: Term }[], isShort = false): State {
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
      if (seen.size > MAX_ITEMS)
        throw new GrammarError(
          'TOO_COMPLEX',
          '',
          `more than ${MAX_ITEMS} alternatives at one place; simplify the grammar`,
        );
      if (isShort && this.isUndecided(term)) this.undecided.add(idOf(this.terms.head(term)));
      else this.expand(term, add, open);
    }
    this.effort += seen.size;
    if (isShort && this.undecided.size > 0) return -1;
    return this.intern(found, seen.has(DONE));
  }

  /** Whether a search has to decide if the first expression of a term matches anything. */
  private isUndecided(term: Term): boolean {
    const head = this.terms.head(term);
    return head >= 0 && !isRule(head) && this.emptiness.found(idOf(head)) === undefined;
  }

  private expand(term: Term, add: (regex: Regex, tail: Term) => void, open: Term[]): void {
    if (term === DONE) return;
    const head = this.terms.head(term);
    if (head < 0) open.push(...this.terms.alternatives(term));
    else if (isRule(head)) open.push(this.terms.append(this.terms.body(idOf(head)), this.terms.tail(term)));
    else if (!this.emptiness.isEmpty(idOf(head))) add(idOf(head), this.terms.tail(term));
  }

  private intern(found: Map<Regex, Term[]>, accepting: boolean): State {
    if (found.size === 0 && !accepting) return DEAD;
    const regexes = [...found.keys()].sort((a, b) => a - b);
    const tails = regexes.map((regex) => this.merged(found.get(regex) as Term[]));
    const key = `${accepting};${regexes.join(',')};${tails.join(',')}`;
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    if (this.states.length >= MAX_STATES)
      throw new GrammarError('TOO_COMPLEX', '', `more than ${MAX_STATES} states; simplify the grammar`);
    this.ids.set(key, this.states.length);
    return this.states.push({ regexes, tails, accepting }) - 1;
  }

  private merged(tails: Term[]): Term {
    return tails.length === 1 ? (tails[0] as Term) : this.terms.choice(tails);
  }
}

function push(into: Map<Regex, Term[]>, regex: Regex, tail: Term): void {
  const known = into.get(regex);
  if (known) known.push(tail);
  else into.set(regex, [tail]);
}
