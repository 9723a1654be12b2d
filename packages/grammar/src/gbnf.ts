import { GrammarError } from './error.js';
import { Grammar } from './grammar.js';
import { complement } from './regex/points.js';
import { Regexes } from './regex/regexes.js';
import { spell } from './regex/spell.js';
import { needFewRanges, type Range, utf8Spelling } from './regex/utf8.js';
import { DONE, idOf, isRule, type Rule, type Term, Terms } from './terms/terms.js';
import { atOnce, type Work } from './turns.js';

const MAX_DEPTH = 200;
const MAX_LENGTH = 262_144;
const MAX_FIRSTS = 20_000; // of one rule
const MAX_CHECKED = 2_000_000; // of all rules
const PART = 256; // characters: a fraction of a millisecond
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t' };

/**
 * A grammar in llama.cpp's notation (its grammars/README.md); the rule `root` is the start. Throws GrammarError with the offset:
 * INVALID for faults, BAD_REFERENCE for a rule that is not defined, UNSUPPORTED for left recursion.
 */
export function compileGbnf(source: string): Grammar {
  return atOnce(gbnfWork(source));
}

/** `compileGbnf` in parts. */
export function gbnfWork(source: string): Work<Grammar> {
  if (source.length > MAX_LENGTH)
    throw new GrammarError(
      'TOO_COMPLEX',
      '',
      `a grammar of ${source.length} characters; the bound is ${MAX_LENGTH}`,
    );
  return new Reader(source).grammar();
}

class Reader {
  private at = 0;
  private depth = 0;
  private readonly regexes = new Regexes();
  private readonly terms = new Terms(this.regexes);
  private readonly spell = utf8Spelling(this.regexes);
  private readonly bodies = new Map<string, Term>();
  private readonly rules = new Map<string, { rule: Rule; offset: number }>();

  constructor(private readonly source: string) {}

  *grammar(): Work<Grammar> {
    this.space(true);
    while (this.at < this.source.length) yield* this.definition();
    if (!this.bodies.has('root')) this.fail('BAD_REFERENCE', 'the grammar has no rule named root');
    for (const [name, { offset }] of this.rules)
      if (!this.bodies.has(name))
        throw new GrammarError('BAD_REFERENCE', `offset ${offset}`, `the rule ${name} is not defined`);
    yield* this.checkLeftRecursion();
    return yield* Grammar.make(this.terms, this.terms.call(this.rule('root'), DONE));
  }

  private *definition(): Work<void> {
    const name = this.name();
    if (this.bodies.has(name)) this.fail('INVALID', `the rule ${name} is defined twice`);
    this.space(false);
    if (!this.take('::=')) this.fail('INVALID', `::= expected after ${name}`);
    this.space(true);
    this.rule(name);
    this.bodies.set(name, yield* this.choice(false));
    this.space(true);
  }

  private *choice(inGroup: boolean): Work<Term> {
    if (++this.depth > MAX_DEPTH) this.fail('TOO_COMPLEX', `nested more than ${MAX_DEPTH} deep`);
    const parts = [yield* this.sequence(inGroup)];
    while (this.take('|')) {
      this.space(true);
      parts.push(yield* this.sequence(inGroup));
    }
    this.depth--;
    return yield* this.terms.choose(parts);
  }

  private *sequence(inGroup: boolean): Work<Term> {
    const parts: Term[] = [];
    while (this.at < this.source.length && !/[|)\r\n]/.test(this.peek())) {
      const part = yield* this.atom();
      parts.push(this.repeated(part));
      this.space(inGroup);
      yield;
    }
    let sequence: Term = DONE;
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      sequence = yield* this.terms.join(part, sequence);
      yield;
    }
    return sequence;
  }

  private *atom(): Work<Term> {
    if (this.take('"')) return yield* this.literal();
    if (this.take('[')) return this.match(this.brackets());
    if (this.take('.')) return this.match(complement([]));
    if (this.take('(')) {
      this.space(true);
      const inner = yield* this.choice(true);
      if (!this.take(')')) this.fail('INVALID', ') expected');
      return inner;
    }
    return this.terms.call(this.rule(this.name()), DONE);
  }

  private repeated(part: Term): Term {
    const match = /^(?:[*+?]|\{(\d+)(,(\d*))?\})/.exec(this.source.slice(this.at, this.at + 40));
    if (!match) return part;
    this.at += match[0].length;
    const [text, low, comma, high] = match;
    if (text === '*') return this.repeat(part, 0, Infinity);
    if (text === '+') return this.repeat(part, 1, Infinity);
    if (text === '?') return this.repeat(part, 0, 1);
    const min = Number(low);
    return this.repeat(part, min, comma === undefined ? min : high ? Number(high) : Infinity);
  }

  private repeat(part: Term, min: number, max: number): Term {
    if (max < min) this.fail('INVALID', `the bounds {${min},${max}} are in the wrong order`);
    return this.terms.repeat(part, min, max);
  }

  private *literal(): Work<Term> {
    let text = '';
    while (!this.take('"')) {
      text += this.character();
      if (text.length % PART === 0) yield;
    }
    return this.terms.match(yield* spell(this.regexes, text), DONE);
  }

  private brackets(): readonly Range[] {
    const isNegated = this.take('^');
    const ranges: Range[] = [];
    while (!this.take(']')) {
      const low = this.character().codePointAt(0) as number;
      const isRange = this.peek() === '-' && this.source[this.at + 1] !== ']';
      if (isRange) this.at++;
      const high = isRange ? (this.character().codePointAt(0) as number) : low;
      if (high < low) this.fail('INVALID', 'a range in the wrong order');
      ranges.push([low, high]);
      if (!isNegated) needFewRanges(ranges.length);
    }
    return isNegated ? complement(ranges) : ranges;
  }

  private character(): string {
    const point = this.source.codePointAt(this.at);
    if (point === undefined) return this.fail('INVALID', 'a text or a set without end');
    const char = String.fromCodePoint(point);
    this.at += char.length;
    if (char !== '\\') return char;
    const kind = this.source[this.at++] ?? '';
    const digits = { x: 2, u: 4, U: 8 }[kind];
    if (digits === undefined) return ESCAPES[kind] ?? kind;
    const hex = this.source.slice(this.at, this.at + digits);
    const value = Number.parseInt(hex, 16);
    if (!/^[0-9a-fA-F]+$/.test(hex) || hex.length < digits || value > 0x10ffff)
      this.fail('INVALID', 'a malformed escape');
    this.at += digits;
    return String.fromCodePoint(value);
  }

  private match(ranges: readonly Range[]): Term {
    return this.terms.match(this.spell(ranges), DONE);
  }

  private rule(name: string): Rule {
    let known = this.rules.get(name);
    if (!known) {
      known = { rule: this.terms.rule(() => this.bodyOf(name)), offset: this.at };
      this.rules.set(name, known);
    }
    return known.rule;
  }

  // biome-ignore lint/correctness/useYield: bodies of rules may take parts; this one is at hand
  private *bodyOf(name: string): Work<Term> {
    return this.bodies.get(name) as Term;
  }

  /** What may come first in a left-recursive rule never ends: a bound stops it. Rules that come first in others end with them. */
  private *checkLeftRecursion(): Work<void> {
    const checked = new Set<Rule>();
    const root = this.rule('root');
    let count = 0;
    for (const [name, { rule, offset }] of [['root', { rule: root, offset: 0 }] as const, ...this.rules]) {
      if (checked.has(rule)) continue;
      const firsts = yield* this.firstsOf(rule, checked);
      if (firsts > MAX_FIRSTS)
        throw new GrammarError(
          'UNSUPPORTED',
          `offset ${offset}`,
          `the rule ${name} begins with itself, or too ambiguously; write the repetition with * or +`,
        );
      count += firsts;
      if (count > MAX_CHECKED)
        throw new GrammarError(
          'TOO_COMPLEX',
          '',
          `rules begin with too many rules; at most ${MAX_CHECKED} are checked`,
        );
    }
  }

  /** How many terms may come first in a rule, at most one more than the bound. Their rules are added to `checked`. */
  private *firstsOf(start: Rule, checked: Set<Rule>): Work<number> {
    const { terms } = this;
    const open = [terms.call(start, DONE)];
    const seen = new Set<Term>();
    for (let term = open.pop(); term !== undefined && seen.size <= MAX_FIRSTS; term = open.pop()) {
      if (seen.has(term)) continue;
      seen.add(term);
      if (seen.size % PART === 0) yield;
      if (term === DONE) continue;
      const head = terms.head(term);
      if (head < 0) open.push(...terms.alternatives(term));
      else if (isRule(head)) {
        checked.add(idOf(head));
        open.push(yield* terms.join(terms.body(idOf(head)), terms.tail(term)));
      } else if (this.regexes.nullable(idOf(head))) open.push(terms.tail(term));
    }
    return seen.size;
  }

  private name(): string {
    const match = /^[A-Za-z0-9_-]+/.exec(this.source.slice(this.at, this.at + 200));
    if (!match) return this.fail('INVALID', `unexpected ${JSON.stringify(this.peek())}`);
    this.at += match[0].length;
    return match[0];
  }

  private space(acrossLines: boolean): void {
    const pattern = acrossLines ? /(?:[ \t\r\n]|#[^\n]*)*/y : /(?:[ \t]|#[^\n]*)*/y;
    pattern.lastIndex = this.at;
    pattern.exec(this.source);
    this.at = pattern.lastIndex;
  }

  private peek(): string {
    return this.source[this.at] ?? '';
  }

  private take(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private fail(code: 'INVALID' | 'BAD_REFERENCE' | 'TOO_COMPLEX', detail: string): never {
    throw new GrammarError(code, `offset ${this.at}`, `in the grammar: ${detail}`);
  }
}
