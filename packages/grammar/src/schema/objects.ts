import type { Regex } from '../regex/regexes.js';
import { DONE, FAIL, type Rule, type Term } from '../terms/terms.js';
import type { Work } from '../turns.js';
import type { Conjunction, Flat } from './flat.js';
import type { ObjectShape } from './shape.js';
import type { Values } from './values.js';

/** The keys of an object so far. */
interface Progress {
  readonly seen: ReadonlySet<number>; // indices of named keys
  readonly others: number;
  /** In the schema's order: named keys before this one can come no more. */
  readonly from: number;
}

/**
 * Objects of one alternative. Rules by the keys so far: only sets of keys that a text really has are built. A named key
 * comes at most once. In the schema's order, named keys come first, each in its place or not at all, then the others.
 */
export class ObjectRules {
  private readonly names: string[] = [];
  private readonly members: Conjunction[] = [];
  private readonly keys: number[] = [];
  private readonly others: ObjectShape['others'];
  private readonly required: ReadonlySet<number>;
  private readonly dependent = new Map<number, number[]>();
  /** Names in `dependent`. */
  private dependents = 0;
  private readonly rules = new Map<string, Rule>();
  private readonly counts: boolean;
  private readonly isFree: boolean;

  constructor(
    private readonly values: Values,
    private readonly flat: Flat,
  ) {
    const { model } = values;
    const shape = model.shape(flat);
    for (const [name, value] of shape.named) {
      if (!model.isPossible(value)) continue;
      this.names.push(name);
      this.members.push(value);
      this.keys.push(values.key(name));
    }
    const index = new Map(this.names.map((name, i) => [name, i]));
    const find = (name: string) => index.get(name) ?? -1; // -1: impossible
    this.required = new Set(flat.required.map(find));
    for (const [name, others] of flat.dependent) {
      this.dependent.set(find(name), [...(this.dependent.get(find(name)) ?? []), ...others.map(find)]);
      this.dependents += others.length;
    }
    this.others = shape.others.filter((other) => model.isPossible(other.value));
    this.counts = flat.minProperties > 0 || flat.maxProperties < Infinity;
    this.isFree = values.keyOrder === 'any';
  }

  *term(): Work<Term> {
    const { terms, marks } = this.values;
    const start = { seen: new Set<number>(), others: 0, from: 0 };
    if (!this.canFinish(start)) return FAIL;
    return terms.match(marks.openObject, yield* terms.choose([yield* this.member(start), this.close(start)]));
  }

  /** One more member, and all after it. */
  private *member(progress: Progress): Work<Term> {
    const { terms, marks } = this.values;
    const choices: Term[] = [];
    const { effort } = terms.regexes;
    for (let i = progress.from; i < this.keys.length; i++) {
      if (progress.seen.has(i)) continue;
      const seen = new Set([...progress.seen, i]);
      const next = { ...progress, seen, from: this.isFree ? 0 : i + 1 };
      choices.push(terms.match(this.keys[i] as Regex, this.rest(this.members[i] as Conjunction, next)));
      if (!this.isFree && this.required.has(i)) return yield* terms.choose(choices); // none comes before it
      effort.spend(1 + seen.size + this.required.size + this.dependents);
      if (effort.endsPart()) yield;
    }
    const others = this.counts ? progress.others + 1 : 0;
    const more = { ...progress, others, from: this.isFree ? 0 : this.keys.length };
    for (const other of this.others)
      choices.push(terms.match(terms.regexes.concat(other.key, marks.colon), this.rest(other.value, more)));
    return yield* terms.choose(choices);
  }

  private rest(value: Conjunction, next: Progress): Term {
    if (!this.canFinish(next)) return FAIL;
    const key = this.keyOf(next);
    let rule = this.rules.get(key);
    if (rule === undefined) {
      rule = this.values.terms.rule(() => this.after(next));
      this.rules.set(key, rule);
    }
    return this.values.value(value, this.values.terms.call(rule, DONE));
  }

  /** What decides about the rest of the object. */
  private keyOf({ seen, others, from }: Progress): string {
    if (this.isFree || this.dependent.size > 0)
      return `${from};${[...seen].sort((a, b) => a - b).join()};${others}`;
    return `${from};${this.counts ? seen.size : 0};${others}`;
  }

  private *after(progress: Progress): Work<Term> {
    const { terms, marks } = this.values;
    const more = terms.match(marks.comma, yield* this.member(progress));
    return yield* terms.choose([more, this.close(progress)]);
  }

  private close(progress: Progress): Term {
    const { terms, marks } = this.values;
    const isComplete = this.missing(progress) === 0 && this.distinct(progress) >= this.flat.minProperties;
    return isComplete ? terms.match(marks.closeObject, DONE) : FAIL;
  }

  /** True if the object can still become whole. */
  private canFinish(progress: Progress): boolean {
    const { minProperties, maxProperties } = this.flat;
    const missing = this.missing(progress);
    if (progress.seen.size + progress.others + missing > maxProperties) return false;
    if (missing === Infinity) return false;
    const left = this.isFree ? this.names.length : progress.seen.size + this.names.length - progress.from;
    const possible = left + (this.others.length > 0 || progress.others > 0 ? 1 : 0);
    return possible >= minProperties;
  }

  /** Keys other than named ones may be equal to each other, and then count once. */
  private distinct({ seen, others }: Progress): number {
    return seen.size + Math.min(others, 1);
  }

  /** How many named keys must still come; Infinity if one of them is impossible. */
  private missing({ seen, from }: Progress): number {
    const needed = new Set(this.required);
    if (this.dependent.size > 0) this.addDependent(needed, seen);
    if (needed.has(-1)) return Infinity;
    let missing = 0;
    for (const key of needed)
      if (!seen.has(key)) {
        if (key < from) return Infinity;
        missing++;
      }
    return missing;
  }

  private addDependent(needed: Set<number>, seen: ReadonlySet<number>): void {
    for (const name of seen) for (const key of this.dependent.get(name) ?? []) needed.add(key);
    for (const name of needed) for (const key of this.dependent.get(name) ?? []) needed.add(key); // also added ones
  }
}
