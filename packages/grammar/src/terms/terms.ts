import { GrammarError } from '../error.js';
import { Emptiness } from '../regex/empty.js';
import { NOTHING, type Regex, type Regexes } from '../regex/regexes.js';
import { atOnce, type Effort, type Work } from '../turns.js';

const MAX_TERMS = 4_000_000;
const MAPS = 16;
const CHEAP = 8; // alternatives that cost one unit of effort

/** An id of a rest of a text: a sequence of regular expressions and rules, or a choice of such. */
export type Term = number;
/** An id of a rule. Its term is built at first use, so that rules may contain themselves. */
export type Rule = number;

export const DONE: Term = 0; // the end of the text
export const FAIL: Term = 1; // no text

/** Heads of sequences: regular expressions have even numbers, rules odd ones. */
export type Head = number;
export const isRule = (head: Head): boolean => (head & 1) === 1;
export const idOf = (head: Head): number => head >>> 1;

/** Interned terms in right-nested form: [head, tail] or a choice. Equal terms have equal ids. */
export class Terms {
  private readonly heads: Head[] = [-1, -1]; // -1: no sequence
  private readonly tails: Term[] = [0, 0];
  private readonly choices: (readonly Term[] | undefined)[] = [[], []];
  /** In several maps: a large one grows for too long at once. */
  private readonly sequences = Array.from({ length: MAPS }, () => new Map<number, Term>());
  private readonly unions = new Map<string, Term>();
  private readonly bodies: (Term | (() => Work<Term>))[] = [];
  private readonly effort: Effort;

  constructor(
    readonly regexes: Regexes,
    readonly emptiness = new Emptiness(regexes),
  ) {
    this.effort = regexes.effort;
  }

  rule(body: () => Work<Term>): Rule {
    return this.bodies.push(body) - 1;
  }

  body(rule: Rule): Term {
    return this.knownBody(rule) ?? atOnce(this.findBody(rule));
  }

  /** What a rule stands for if it has been built. */
  knownBody(rule: Rule): Term | undefined {
    const body = this.bodies[rule];
    return typeof body === 'number' ? body : undefined;
  }

  /** `body` in parts. */
  *findBody(rule: Rule): Work<Term> {
    const body = this.bodies[rule];
    if (typeof body === 'number') return body;
    const term = body ? yield* body() : FAIL;
    this.bodies[rule] = term;
    return term;
  }

  /** `regex`, then `tail`. */
  match(regex: Regex, tail: Term): Term {
    return regex === NOTHING ? FAIL : this.sequence(regex * 2, tail);
  }

  /** What `rule` matches, then `tail`. */
  call(rule: Rule, tail: Term): Term {
    return this.sequence(rule * 2 + 1, tail);
  }

  /** `part`, from `least` to `most` times. One rule per count, built when a text reaches it. */
  repeat(part: Term, least: number, most: number): Term {
    if (most === 0) return DONE;
    const isLoop = least === 0 && most === Infinity;
    const rule: Rule = this.rule(() => this.repeated(part, least, most, isLoop ? rule : undefined));
    return this.call(rule, DONE);
  }

  /** @param loop the rule itself, if it repeats without end */
  private *repeated(part: Term, least: number, most: number, loop: Rule | undefined): Work<Term> {
    const tail =
      loop === undefined ? this.repeat(part, Math.max(0, least - 1), most - 1) : this.call(loop, DONE);
    const more = yield* this.join(part, tail);
    return least > 0 ? more : yield* this.choose([DONE, more]);
  }

  /** Any of `terms`. Equal heads are merged: this keeps ambiguous grammars polynomial, as the graph-structured stack does. */
  choice(terms: readonly Term[]): Term {
    return atOnce(this.choose(terms));
  }

  /** `choice` in parts. What all of `terms` begin with may be long: it is taken off without recursion. */
  *choose(terms: readonly Term[]): Work<Term> {
    const common: Head[] = [];
    let parts = this.flatten(terms);
    for (let head = this.commonHead(parts); head >= 0; head = this.commonHead(parts)) {
      common.push(head);
      parts = this.flatten(parts.map((term) => this.tail(term)));
      if (this.effort.endsPart()) yield;
    }
    if (this.effort.endsPart()) yield;
    let term = this.union(yield* this.merge(parts));
    for (let head = common.pop(); head !== undefined; head = common.pop()) {
      term = this.sequence(head, term);
      this.effort.spend(1);
      if (this.effort.endsPart()) yield;
    }
    return term;
  }

  /** The alternatives of all terms, each once. */
  private flatten(terms: readonly Term[]): Term[] {
    const flat = new Set<Term>();
    for (const term of terms) for (const part of this.alternatives(term)) flat.add(part);
    this.effort.spend(1 + flat.size / CHEAP);
    return [...flat];
  }

  /** The head of all of two or more terms; -1 where they differ. */
  private commonHead(terms: readonly Term[]): Head | -1 {
    const head = terms.length < 2 ? -1 : this.head(terms[0] as Term);
    return head >= 0 && terms.every((term) => this.head(term) === head) ? head : -1;
  }

  /** One of terms with different heads. */
  private union(parts: Term[]): Term {
    if (parts.length < 2) return parts[0] ?? FAIL;
    parts.sort((a, b) => a - b);
    const key = parts.join(',');
    const known = this.unions.get(key);
    if (known !== undefined) return known;
    const id = this.push(-1, 0, parts);
    this.unions.set(key, id);
    return id;
  }

  /** `body` with its end replaced by `tail`. */
  append(body: Term, tail: Term): Term {
    if (body === DONE || tail === DONE) return body === DONE ? tail : body;
    return atOnce(this.join(body, tail));
  }

  /** `append` in parts, without recursion: terms may be long, and share their rests. */
  *join(body: Term, tail: Term): Work<Term> {
    if (body === DONE || tail === DONE) return body === DONE ? tail : body;
    const only = this.head(body);
    if (only >= 0 && this.tail(body) === DONE) return this.sequence(only, tail);
    const known = new Map<Term, Term>([
      [DONE, tail],
      [FAIL, FAIL],
    ]);
    const open = [body];
    for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
      const head = this.head(at);
      const rests = head < 0 ? this.alternatives(at) : [this.tail(at)];
      const missing = rests.filter((rest) => !known.has(rest));
      for (const rest of missing) open.push(rest);
      if (missing.length > 0) continue;
      const joined = rests.map((rest) => known.get(rest) as Term);
      known.set(at, head < 0 ? yield* this.choose(joined) : this.sequence(head, joined[0] as Term));
      open.pop();
      this.effort.spend(1);
      if (this.effort.endsPart()) yield;
    }
    return known.get(body) as Term;
  }

  head(term: Term): Head {
    return this.heads[term] as Head;
  }

  tail(term: Term): Term {
    return this.tails[term] as Term;
  }

  alternatives(term: Term): readonly Term[] {
    if (term === FAIL) return [];
    const parts = this.choices[term];
    return term === DONE || !parts ? [term] : parts;
  }

  private sequence(head: Head, tail: Term): Term {
    if (tail === FAIL) return FAIL;
    const key = head * 0x4000000 + tail;
    const sequences = this.sequences[tail % MAPS] as Map<number, Term>;
    const known = sequences.get(key);
    if (known !== undefined) return known;
    const id = this.push(head, tail, undefined);
    sequences.set(key, id);
    return id;
  }

  private *merge(terms: Term[]): Work<Term[]> {
    if (terms.length < 2) return terms;
    const byHead = new Map<Head, Term[]>();
    for (const term of terms) {
      const head = term === DONE ? -1 : (this.heads[term] as Head);
      const group = byHead.get(head);
      if (group) group.push(term);
      else byHead.set(head, [term]);
    }
    if (byHead.size === terms.length) return terms;
    const merged: Term[] = [];
    for (const [head, group] of byHead) {
      if (group.length === 1) merged.push(group[0] as Term);
      else merged.push(this.sequence(head, yield* this.choose(group.map((term) => this.tail(term)))));
      if (this.effort.endsPart()) yield;
    }
    return merged;
  }

  private push(head: Head, tail: Term, parts: readonly Term[] | undefined): Term {
    if (this.heads.length >= MAX_TERMS)
      throw new GrammarError('TOO_COMPLEX', '', `more than ${MAX_TERMS} terms; simplify the grammar`);
    this.heads.push(head);
    this.tails.push(tail);
    return this.choices.push(parts) - 1;
  }
}
