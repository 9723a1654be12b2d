import { NOTHING, type Regex } from '../regex/regexes.js';
import { spell } from '../regex/spell.js';
import { DONE, type Rule, type Term, Terms } from '../terms/terms.js';
import { atOnce, type Work } from '../turns.js';
import { ArrayRules } from './arrays.js';
import type { Conjunction, Flat } from './flat.js';
import { Type } from './json.js';
import type { Model } from './model.js';
import { ObjectRules } from './objects.js';
import type { KeyOrder, SchemaOptions, WhiteSpace } from './options.js';
import type { Marks, Values } from './values.js';

const MAX_SPACE = 256;
const PART = 256; // alternatives: a fraction of a millisecond

/** Builds the terms of a schema's values, each at first use. */
export class Builder implements Values {
  readonly marks: Marks;
  readonly keyOrder: KeyOrder;
  private readonly whiteSpace: WhiteSpace;
  private readonly space: Regex;
  private readonly rules = new Map<string, Rule>();
  private readonly flats = new Map<Flat, Term>();
  private readonly keys = new Map<string, Regex>();

  constructor(
    readonly model: Model,
    { whiteSpace = 'single', keyOrder = 'schema' }: SchemaOptions,
    readonly terms = new Terms(model.strings.regexes, model.strings.emptiness),
  ) {
    const { regexes } = model.strings;
    this.whiteSpace = whiteSpace;
    this.keyOrder = keyOrder;
    this.space = this.spaces();
    const before = whiteSpace === 'any' ? this.space : regexes.repeat(this.space, 0, 0);
    const open = (mark: string) => regexes.concat(regexes.text(mark), this.space);
    const close = (mark: string) => regexes.concat(this.space, regexes.text(mark));
    const between = (mark: string) => regexes.sequence([before, regexes.text(mark), this.space]);
    this.marks = {
      openObject: open('{'),
      closeObject: close('}'),
      openArray: open('['),
      closeArray: close(']'),
      comma: between(','),
      colon: between(':'),
    };
  }

  /** Builds the terms of all values that the schema can meet, in parts. */
  *prepare(): Work<void> {
    for (const ids of this.model.met)
      for (const flat of this.model.alternatives(ids)) {
        if (this.canBeObject(flat))
          for (const name of this.model.shape(flat).named.keys()) yield* this.spellKey(name);
        yield* this.flat(flat);
        yield;
      }
  }

  key(name: string): Regex {
    return this.keys.get(name) ?? atOnce(this.spellKey(name));
  }

  private *spellKey(name: string): Work<Regex> {
    const known = this.keys.get(name);
    if (known !== undefined) return known;
    const key = yield* spell(this.terms.regexes, JSON.stringify(name), this.marks.colon);
    this.keys.set(name, key);
    yield;
    return key;
  }

  private canBeObject(flat: Flat): boolean {
    return !flat.values && (flat.types & Type.object) !== 0 && this.model.isPossibleObject(flat);
  }

  root(): Term {
    const value = this.value(this.model.root, DONE);
    if (this.whiteSpace !== 'any') return value;
    return this.terms.match(this.space, this.terms.append(value, this.terms.match(this.space, DONE)));
  }

  /** A value that fits all of `schemas`, then `tail`. */
  value(schemas: Conjunction, tail: Term): Term {
    const key = schemas.join();
    let rule = this.rules.get(key);
    if (rule === undefined) {
      rule = this.terms.rule(() => this.anyOf(schemas));
      this.rules.set(key, rule);
    }
    return this.terms.call(rule, tail);
  }

  private *anyOf(schemas: Conjunction): Work<Term> {
    const terms: Term[] = [];
    for (const flat of this.model.alternatives(schemas)) {
      terms.push(this.flats.get(flat) ?? (yield* this.flat(flat)));
      if (terms.length % PART === 0) yield;
    }
    return yield* this.terms.choose(terms);
  }

  private *flat(flat: Flat): Work<Term> {
    const known = this.flats.get(flat);
    if (known !== undefined) return known;
    const term = yield* this.build(flat);
    this.flats.set(flat, term);
    return term;
  }

  private *build(flat: Flat): Work<Term> {
    const leaves = this.model.leaves.regex(flat);
    const choices: Term[] = leaves === NOTHING ? [] : [this.terms.match(leaves, DONE)];
    if (!flat.values && flat.types & Type.array && this.model.isPossibleArray(flat))
      choices.push(new ArrayRules(this, flat).term());
    if (this.canBeObject(flat)) choices.push(yield* new ObjectRules(this, flat).term());
    return yield* this.terms.choose(choices);
  }

  private spaces(): Regex {
    const { regexes } = this.model.strings;
    const [space, newline] = [regexes.byte(0x20), regexes.byte(0x0a)];
    if (this.whiteSpace === 'none') return regexes.repeat(space, 0, 0);
    if (this.whiteSpace === 'single') return regexes.optional(regexes.or(space, newline));
    return regexes.repeat(regexes.or(space, newline, regexes.byte(0x09), regexes.byte(0x0d)), 0, MAX_SPACE);
  }
}
