import { GrammarError } from '../error.js';
import type { Regex } from '../regex/regexes.js';
import { spellAny } from '../regex/spell.js';
import { atOnce, type Work } from '../turns.js';
import { Document } from './document.js';
import { Cycle, Expansion } from './expand.js';
import type { Conjunction, Flat } from './flat.js';
import { Type } from './json.js';
import { refuse } from './keywords.js';
import { Leaves } from './leaves.js';
import type { SchemaOptions } from './options.js';
import { checkCounts, conjunction, type ObjectShape, shapeOf } from './shape.js';
import { innerText, Strings } from './strings.js';
import { learnPatterns } from './texts.js';

const MAX_CONJUNCTIONS = 20_000;
const MAX_DEPTH = 100;

type ModelOptions = Pick<SchemaOptions, 'unknownFormats'>;

/** A required value is nested too deeply: the values inside it must be decided first. */
class TooDeep extends GrammarError {
  constructor(readonly ids: Conjunction) {
    super('TOO_COMPLEX', '/', `schemas require each other in a cycle of more than ${MAX_DEPTH}; shorten it`);
  }
}

/** A schema, understood: which alternatives hold at each place, and which of them some value fits. */
export class Model {
  readonly leaves: Leaves;
  readonly root: Conjunction;
  /** What the schema says that is not enforced. */
  readonly notices = new Set<string>();
  /** All that a value can meet. */
  readonly met: Conjunction[] = [];
  private readonly expansion: Expansion;
  private readonly shapes = new Map<Flat, ObjectShape>();
  private readonly flats = new Map<string, readonly Flat[]>();
  private readonly fitting = new Map<string, boolean>();
  private readonly open = new Set<string>();
  private guesses = 0;

  private constructor(
    document: Document,
    { unknownFormats = 'ignore' }: ModelOptions,
    readonly strings: Strings,
  ) {
    this.leaves = new Leaves(strings);
    this.root = [document.root.id];
    const checkPattern = (source: string) => void this.strings.matching(source);
    this.expansion = new Expansion(
      document,
      { unknownFormats, checkPattern, notice: (text) => this.notices.add(text) },
      (a, b) => this.areDisjoint(conjunction([...a, ...b])),
    );
  }

  /** Reads a schema in parts; faults are thrown. */
  static *read(schema: unknown, options: ModelOptions, strings = new Strings()): Work<Model> {
    yield* learnPatterns(strings, schema);
    const model = new Model(yield* Document.read(schema), options, strings);
    yield* model.visitAll();
    return model;
  }

  alternatives(ids: Conjunction): readonly Flat[] {
    return this.flats.get(ids.join()) ?? atOnce(this.expand(ids));
  }

  /** `alternatives` in parts. */
  private *expand(ids: Conjunction): Work<readonly Flat[]> {
    const key = ids.join();
    let flats = this.flats.get(key);
    if (!flats) {
      flats = yield* this.expansion.conjunction(ids);
      this.flats.set(key, flats);
    }
    return flats;
  }

  shape(flat: Flat): ObjectShape {
    return this.shapes.get(flat) ?? atOnce(this.readShape(flat));
  }

  private *readShape(flat: Flat): Work<ObjectShape> {
    let shape = this.shapes.get(flat);
    if (!shape) {
      shape = yield* shapeOf(this.strings, flat, yield* this.keys(flat));
      this.shapes.set(flat, shape);
    }
    return shape;
  }

  /** The schemas of item `index` of an array. */
  item(flat: Flat, index: number): Conjunction {
    return conjunction(flat.arrays.map((part) => part.prefix[index] ?? part.rest));
  }

  /** The first index from which all items have the same schemas. */
  prefixLength(flat: Flat): number {
    return flat.arrays.reduce((most, part) => Math.max(most, part.prefix.length), 0);
  }

  /** False if no value fits. True may be a guess where a search exceeds its bounds. */
  isPossible(ids: Conjunction): boolean {
    const key = ids.join();
    const known = this.fitting.get(key);
    if (known !== undefined) return known;
    if (this.open.has(key)) {
      this.guesses++; // a value within itself: no finite value is built from this one alone
      return false;
    }
    if (this.open.size >= MAX_DEPTH) throw new TooDeep(ids);
    const guesses = this.guesses;
    this.open.add(key);
    let isPossible: boolean;
    try {
      isPossible = this.search(ids);
    } finally {
      this.open.delete(key);
    }
    if (isPossible || this.guesses === guesses || this.open.size === 0) this.fitting.set(key, isPossible);
    return isPossible;
  }

  isPossibleObject(flat: Flat): boolean {
    const shape = this.shape(flat);
    if (flat.required.length > flat.maxProperties) return false;
    if (shape.others.length === 0 && shape.named.size < flat.minProperties) return false;
    return flat.required.every((name) => {
      const value = shape.named.get(name);
      return value !== undefined && this.isPossible(value);
    });
  }

  isPossibleArray(flat: Flat): boolean {
    if (flat.minItems > flat.maxItems) return false;
    const last = Math.min(flat.minItems, this.prefixLength(flat) + 1);
    for (let i = 0; i < last; i++) if (!this.isPossible(this.item(flat, i))) return false;
    return true;
  }

  /** False also where the search is too deep. */
  private areDisjoint(ids: Conjunction): boolean {
    try {
      return !this.isPossible(ids);
    } catch (error) {
      if (error instanceof TooDeep) return false;
      throw error;
    }
  }

  private search(ids: Conjunction): boolean {
    let flats: readonly Flat[];
    try {
      flats = this.alternatives(ids);
    } catch (error) {
      if (error instanceof Cycle) return true; // asked during the expansion of the same schema
      throw error;
    }
    return flats.some((flat) => this.isPossibleFlat(flat));
  }

  private isPossibleFlat(flat: Flat): boolean {
    if (!this.strings.emptiness.isEmpty(this.leaves.regex(flat))) return true;
    if (flat.values) return false;
    if (flat.types & Type.array && this.isPossibleArray(flat)) return true;
    return (flat.types & Type.object) !== 0 && this.isPossibleObject(flat);
  }

  /** The characters of keys that propertyNames allows. */
  private *keys(flat: Flat): Work<Regex> {
    const { regexes, canonical } = this.strings;
    if (flat.names.length === 0) return regexes.many(canonical);
    const allowed: Regex[] = [];
    for (const name of yield* this.expand(conjunction(flat.names)))
      if (name.types & Type.string)
        allowed.push(
          name.values
            ? yield* spellAny(regexes, (yield* this.leaves.texts(name)).map(innerText))
            : yield* this.leaves.findContent(name),
        );
    return regexes.and(regexes.many(canonical), regexes.or(...allowed));
  }

  /** Reads every schema that a value can meet, so that what cannot be enforced is refused now. */
  private *visitAll(): Work<void> {
    const seen = new Set<string>();
    const open: Conjunction[] = [this.root];
    for (let ids = open.pop(); ids; ids = open.pop()) {
      const key = ids.join();
      if (seen.has(key)) continue;
      seen.add(key);
      if (seen.size > MAX_CONJUNCTIONS)
        throw new GrammarError(
          'TOO_COMPLEX',
          '/',
          `the schema has more than ${MAX_CONJUNCTIONS} combinations of schemas`,
        );
      this.met.push(ids);
      for (const id of ids) yield* this.expansion.prepare(id);
      for (const flat of yield* this.expand(ids)) {
        if (!flat.values) yield* this.visit(flat, open);
        yield;
      }
    }
    yield* this.decideAll();
    if (!this.isPossible(this.root)) throw new GrammarError('UNSATISFIABLE', '/', 'no value fits the schema');
  }

  /** Which values are possible, the innermost first. */
  private *decideAll(): Work<void> {
    for (const ids of [...this.met].reverse()) {
      for (const flat of this.alternatives(ids))
        yield* this.strings.emptiness.decide(yield* this.leaves.find(flat));
      yield* this.decide(ids);
    }
  }

  /** Keeps what `isPossible` finds, and before it what lies too deep within. */
  private *decide(ids: Conjunction): Work<void> {
    const open = [ids];
    for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
      try {
        this.isPossible(at);
        open.pop();
      } catch (error) {
        if (!(error instanceof TooDeep) || open.length > MAX_CONJUNCTIONS / MAX_DEPTH) throw error;
        open.push(error.ids);
      }
      yield;
    }
  }

  private *visit(flat: Flat, open: Conjunction[]): Work<void> {
    if (flat.types & Type.array) {
      if (flat.isUnique && flat.maxItems > 1)
        refuse(
          `${flat.pointer}/uniqueItems`,
          'the keyword uniqueItems cannot be enforced while generating; remove it, or set maxItems: 1',
        );
      const last = Math.min(this.prefixLength(flat), flat.maxItems - 1);
      for (let i = 0; i <= last; i++) {
        open.push(this.item(flat, i));
        yield;
      }
    }
    if (flat.types & Type.object) {
      const shape = yield* this.readShape(flat);
      checkCounts(flat, shape);
      open.push(...shape.named.values(), ...shape.others.map((other) => other.value));
    }
  }
}
