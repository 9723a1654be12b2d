import { atOnce, type Work } from '../turns.js';
import { hasByte } from './byte-set.js';
import { NOTHING, type Regex, type Regexes } from './regexes.js';
import { Relaxed } from './relax.js';

const MAX_VISITS = 1_000;

/** Decides whether expressions match no text at all, by a search of their derivatives. */
export class Emptiness {
  private readonly known = new Map<Regex, boolean>();
  private readonly relaxed: Relaxed;

  constructor(private readonly regexes: Regexes) {
    this.relaxed = new Relaxed(regexes);
  }

  /** False also where the search exceeds its bound of 1000 derivatives. */
  isEmpty(regex: Regex): boolean {
    return this.found(regex) ?? atOnce(this.decide(regex));
  }

  /** `isEmpty` without a search; undefined: one is needed. */
  found(regex: Regex): boolean | undefined {
    if (regex === NOTHING) return true;
    return this.regexes.hasLogic(regex) ? this.known.get(regex) : false;
  }

  /** `isEmpty` in parts. */
  *decide(regex: Regex): Work<boolean> {
    const found = this.found(regex);
    if (found !== undefined) return found;
    const empty = (yield* this.isEmptyOfAnyNumber(regex)) || !(yield* this.reaches(regex));
    this.known.set(regex, empty);
    return empty;
  }

  /** Whether nothing would match even if every number were a multiple. */
  private *isEmptyOfAnyNumber(regex: Regex): Work<boolean> {
    if (!this.regexes.hasMultiples(regex)) return false;
    const others = yield* this.relaxed.of(regex);
    return others !== regex && (yield* this.decide(others));
  }

  private *reaches(start: Regex): Work<boolean> {
    const parents = new Map<Regex, Regex>([[start, NOTHING]]);
    const open = [start];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      this.regexes.trim();
      const isGuess = parents.size > MAX_VISITS;
      if (isGuess || this.regexes.nullable(at) || this.known.get(at) === false) {
        const searched = isGuess ? new Set([...parents.keys()].slice(0, MAX_VISITS / 2)) : parents;
        for (let on = at; on !== NOTHING; on = parents.get(on) ?? NOTHING)
          if (searched.has(on)) this.known.set(on, false); // guesses: those that half of the search began with
        return true;
      }
      for (const next of yield* this.successors(at)) {
        if (parents.has(next) || (yield* this.isEmptyOfAnyNumber(next))) continue;
        parents.set(next, at);
        open.push(next);
      }
    }
    for (const regex of parents.keys()) this.known.set(regex, true);
    return false;
  }

  /** The nearest to an end last: it is looked at first. */
  private *successors(regex: Regex): Work<Regex[]> {
    const { effort } = this.regexes;
    const cuts = this.regexes.cuts(regex);
    const next = new Set<Regex>();
    for (let byte = 0; byte < 256; byte++) {
      if (byte > 0 && !hasByte(cuts, byte)) continue;
      const short = this.regexes.shortDerive(regex, byte);
      next.add(short < 0 ? yield* this.regexes.deriveInParts(regex, byte) : short);
      effort.spend(1);
      if (effort.endsPart()) yield;
    }
    next.delete(NOTHING);
    return [...next].sort((a, b) => this.regexes.least(b) - this.regexes.least(a));
  }
}
