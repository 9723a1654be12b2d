import { type Count, frontCount, isConditional } from '../regex/counts.js';
import { EMPTY, type Regex, type Regexes } from '../regex/regexes.js';
import { setAt } from '../set-at.js';
import { type Automaton, DEAD, type State } from '../terms/automaton.js';
import type { Work } from '../turns.js';
import { ALL, type Kinds, kindsBetween, type Steps } from './kinds.js';

/** Any text of up to `most` characters of `kinds` may follow. */
export interface Loop {
  readonly kinds: Kinds;
  readonly most: number;
}

const PART = 256; // expressions: a fraction of a millisecond

/** Most tokens have letters. */
const LETTER = 0x71;

const NONE: Loop = { kinds: 0, most: 0 };

/** The loops of an automaton's states. */
export class Loops {
  private readonly known: (Loop | undefined)[] = [];
  private readonly units = new Map<Regex, Kinds>();
  private readonly ofUnits: Steps;

  constructor(private readonly automaton: Automaton) {
    this.ofUnits = derivativesOf(automaton.terms.regexes);
  }

  /** The loop of a state if it is known. */
  found(state: State): Loop | undefined {
    return this.known[state];
  }

  /** The loop of a state, in parts. */
  *of(state: State): Work<Loop> {
    const known = this.known[state];
    if (known) return known;
    const loop = yield* this.find(state);
    setAt(this.known, state, loop);
    return loop;
  }

  /** True if each character of a string that needs no escape is one `unit`; in parts. */
  *isAny(unit: Regex): Work<boolean> {
    return (yield* this.unitKinds(unit)) === ALL;
  }

  private *find(state: State): Work<Loop> {
    let best = NONE;
    for (const [i, regex] of this.automaton.items(state).regexes.entries()) {
      const count = this.countOf(regex);
      if (i % PART === PART - 1) yield;
      if (count) best = larger(best, { kinds: yield* this.unitKinds(count.unit), most: count.max });
    }
    return best.kinds === ALL ? best : larger(best, { kinds: yield* this.endless(state), most: Infinity });
  }

  private countOf(regex: Regex): Count | undefined {
    const { regexes } = this.automaton.terms;
    const count = frontCount(regexes, regex);
    return count && (count.max === Infinity || !isConditional(regexes, regex)) ? count : undefined;
  }

  /** The kinds that lead to a state in which they stay: mostly the state itself. */
  private *endless(state: State): Work<Kinds> {
    const { automaton } = this;
    const stay = yield* kindsBetween(state, state, automaton);
    if (stay !== 0) return stay;
    const next = yield* automaton.search(state, LETTER);
    if (next === DEAD || next === state) return 0;
    const entering = yield* kindsBetween(state, next, automaton);
    return entering === 0 ? 0 : entering & (yield* kindsBetween(next, next, automaton));
  }

  /** The kinds that are one `unit` each. */
  private *unitKinds(unit: Regex): Work<Kinds> {
    const known = this.units.get(unit);
    if (known !== undefined) return known;
    const kinds = yield* kindsBetween(unit, EMPTY, this.ofUnits);
    this.units.set(unit, kinds);
    return kinds;
  }
}

function derivativesOf(regexes: Regexes): Steps {
  return {
    effort: regexes.effort,
    shortStep: (from, byte) => regexes.shortDerive(from, byte),
    search: (from, byte) => regexes.deriveInParts(from, byte),
  };
}

const larger = (a: Loop, b: Loop): Loop => (bits(b.kinds) > bits(a.kinds) ? b : a);

function bits(kinds: Kinds): number {
  let count = 0;
  for (let rest = kinds; rest !== 0; rest &= rest - 1) count++;
  return count;
}
