import { frontCount, isConditional } from '../regex/counts.js';
import { EMPTY, type Regex } from '../regex/regexes.js';
import { type Automaton, DEAD, type State } from '../terms/automaton.js';
import { ALL, type Kinds, kindsBetween } from './kinds.js';

/** Any text of up to `most` characters of `kinds` may follow. */
export interface Loop {
  readonly kinds: Kinds;
  readonly most: number;
}

/** Most tokens have letters. */
const LETTER = 0x71;

const NONE: Loop = { kinds: 0, most: 0 };

/** The loops of an automaton's states. */
export class Loops {
  private readonly known: (Loop | undefined)[] = [];
  private readonly units = new Map<Regex, Kinds>();

  constructor(private readonly automaton: Automaton) {}

  of(state: State): Loop {
    const known = this.known[state];
    if (known) return known;
    const loop = this.find(state);
    this.known[state] = loop;
    return loop;
  }

  /** True if each character of a string that needs no escape is one `unit`. */
  isAny(unit: Regex): boolean {
    return this.unitKinds(unit) === ALL;
  }

  private find(state: State): Loop {
    let best = NONE;
    for (const regex of this.automaton.items(state).regexes) best = larger(best, this.counted(regex));
    return best.kinds === ALL ? best : larger(best, { kinds: this.endless(state), most: Infinity });
  }

  private counted(regex: Regex): Loop {
    const { regexes } = this.automaton.terms;
    const count = frontCount(regexes, regex);
    if (!count || (count.max !== Infinity && isConditional(regexes, regex))) return NONE;
    return { kinds: this.unitKinds(count.unit), most: count.max };
  }

  /** The kinds that lead to a state in which they stay: mostly the state itself. */
  private endless(state: State): Kinds {
    const step = (from: number, byte: number) => this.automaton.step(from, byte);
    const stay = kindsBetween(state, state, step);
    if (stay !== 0) return stay;
    const next = step(state, LETTER);
    if (next === DEAD || next === state) return 0;
    const entering = kindsBetween(state, next, step);
    return entering === 0 ? 0 : entering & kindsBetween(next, next, step);
  }

  /** The kinds that are one `unit` each. */
  private unitKinds(unit: Regex): Kinds {
    const known = this.units.get(unit);
    if (known !== undefined) return known;
    const { regexes } = this.automaton.terms;
    const kinds = kindsBetween(unit, EMPTY, (from, byte) => regexes.derive(from, byte));
    this.units.set(unit, kinds);
    return kinds;
  }
}

const larger = (a: Loop, b: Loop): Loop => (bits(b.kinds) > bits(a.kinds) ? b : a);

function bits(kinds: Kinds): number {
  let count = 0;
  for (let rest = kinds; rest !== 0; rest &= rest - 1) count++;
  return count;
}
