import { GrammarError } from '../error.js';
import type { Work } from '../turns.js';
import type { Document, Place } from './document.js';
import { anything, type Conjunction, type Flat, intersect } from './flat.js';
import { hasParts, isObject, type Json, type JsonObject } from './json.js';
import { invalid, type KeywordOptions, readKeywords, refuse } from './keywords.js';
import { negate, notTypes } from './negate.js';

const MAX_ALTERNATIVES = 2_000;
const MAX_EXCLUSIVE = 200;
const MAX_DEPTH = 100;
const nothing: Flat = { ...anything, types: 0 };

/** A schema that is being expanded is met again. */
export class Cycle extends GrammarError {
  constructor(pointer: string) {
    super('INVALID', pointer || '/', 'the schema refers to itself without a property or an item between');
  }
}

/** Turns schemas into alternatives without combinators (a disjunctive normal form, one level deep). */
export class Expansion {
  private readonly known = new Map<number, readonly Flat[]>();
  private readonly keywords = new Map<number, Flat>();
  private readonly prepared = new Set<number>();
  private readonly open = new Set<number>();
  private readonly negations = new Map<number, Place>();

  constructor(
    private readonly document: Document,
    private readonly options: KeywordOptions,
    private readonly areDisjoint: (a: Conjunction, b: Conjunction) => boolean,
  ) {}

  conjunction(ids: Conjunction): readonly Flat[] {
    return ids.reduce<readonly Flat[]>(
      (all, id) => cross(all, this.place(this.document.at(id)), this.document.at(id).pointer),
      [anything],
    );
  }

  /** Expands a place and all that it combines, the innermost first, in parts. Faults wait for the expansion itself. */
  *prepare(id: number): Work<void> {
    if (this.prepared.has(id)) return;
    this.prepared.add(id);
    try {
      yield* this.prepareParts(this.document.at(id));
    } catch (error) {
      if (!(error instanceof GrammarError)) throw error;
    }
  }

  private *prepareParts(place: Place): Work<void> {
    const { schema } = place;
    if (typeof schema === 'boolean') return;
    this.own(place);
    yield;
    if (typeof schema.$ref === 'string') yield* this.prepare(this.document.resolve(place, schema.$ref).id);
    for (const key of ['allOf', 'anyOf', 'oneOf'])
      for (const item of this.schemas(place, schema, key)) yield* this.prepare(item.id);
    for (const key of ['if', 'then', 'else'])
      if (schema[key] !== undefined) yield* this.prepare(this.document.child(place, schema[key], key).id);
    yield* this.compareAll(this.schemas(place, schema, 'oneOf'));
    this.place(place);
    yield;
  }

  /** Which alternatives overlap: kept by whoever answers. */
  private *compareAll(items: readonly Place[]): Work<void> {
    if (items.length > MAX_EXCLUSIVE) return;
    for (const [i, item] of items.entries())
      for (const other of items.slice(i + 1)) {
        this.disjoint(item, other);
        yield;
      }
  }

  private own(place: Place): Flat {
    let flat = this.keywords.get(place.id);
    if (!flat) {
      flat = readKeywords(this.document, place, this.options);
      this.keywords.set(place.id, flat);
    }
    return flat;
  }

  private place(place: Place): readonly Flat[] {
    const known = this.known.get(place.id);
    if (known) return known;
    if (this.open.has(place.id)) throw new Cycle(place.pointer);
    if (this.open.size > MAX_DEPTH)
      throw new GrammarError('TOO_COMPLEX', place.pointer, `combined more than ${MAX_DEPTH} deep`);
    this.open.add(place.id);
    try {
      const flats = this.compute(place);
      this.known.set(place.id, flats);
      return flats;
    } finally {
      this.open.delete(place.id);
    }
  }

  private compute(place: Place): readonly Flat[] {
    const { schema, pointer } = place;
    if (typeof schema === 'boolean') return [schema ? anything : nothing];
    if (schema.$ref !== undefined && typeof schema.$ref !== 'string')
      invalid(`${pointer}/$ref`, 'must be a text');
    if (typeof schema.$ref === 'string' && this.isOldReference()) return this.reference(place, schema.$ref);
    let flats: readonly Flat[] = [this.own(place)];
    for (const factor of this.factors(place, schema)) flats = cross(flats, factor, pointer);
    return flats;
  }

  /** Up to draft 7, keywords beside $ref are ignored. */
  private isOldReference(): boolean {
    const { schema } = this.document.root;
    return isObject(schema) && /draft-0[3467]/.test(String(schema.$schema));
  }

  private reference(place: Place, reference: string): readonly Flat[] {
    return this.place(this.document.resolve(place, reference));
  }

  /** For each combinator its alternatives; all combinators hold together. */
  private *factors(place: Place, schema: JsonObject): Generator<readonly Flat[]> {
    if (typeof schema.$ref === 'string') yield this.reference(place, schema.$ref);
    if (schema.const !== undefined) yield this.values(place, [schema.const], 'const');
    if (schema.enum !== undefined) yield this.values(place, this.list(place, schema, 'enum'), 'enum');
    for (const item of this.schemas(place, schema, 'allOf')) yield this.place(item);
    if (schema.anyOf !== undefined)
      yield this.schemas(place, schema, 'anyOf').flatMap((item) => this.place(item));
    if (schema.oneOf !== undefined) yield this.exactlyOne(place, this.schemas(place, schema, 'oneOf'));
    if (schema.not !== undefined) yield this.not(this.document.child(place, schema.not, 'not'));
    if (schema.if !== undefined) yield this.conditional(place, schema);
    for (const key of ['dependentSchemas', 'dependencies'])
      if (isObject(schema[key])) yield* this.dependencies(place, schema[key] as JsonObject, key);
    yield* this.internal(schema);
  }

  /** Keywords that only negate.ts writes. */
  private *internal(schema: JsonObject): Generator<readonly Flat[]> {
    if (schema.$excluded !== undefined) yield [{ ...anything, excluded: schema.$excluded as Json[] }];
    if (typeof schema.$notPlace === 'number') yield this.not(this.document.at(schema.$notPlace));
    if (schema.$notType === undefined) return;
    const { bits, fractions } = notTypes(schema.$notType);
    if (fractions) refuse('/', 'numbers that are not integers cannot be enforced; use type instead of not');
    yield [{ ...anything, types: bits }];
  }

  private values(place: Place, values: readonly Json[], key: string): readonly Flat[] {
    const plain = values.filter((value) => !hasParts(value));
    const built = values.filter(hasParts);
    const flats = built.flatMap((value, i) => this.place(this.document.child(place, fixed(value), key, i)));
    return plain.length > 0 ? [{ ...anything, values: plain }, ...flats] : flats;
  }

  private exactlyOne(place: Place, items: readonly Place[]): readonly Flat[] {
    if (items.length > MAX_EXCLUSIVE)
      throw new GrammarError(
        'TOO_COMPLEX',
        `${place.pointer}/oneOf`,
        `more than ${MAX_EXCLUSIVE} alternatives (${items.length})`,
      );
    const flats: Flat[] = [];
    items.forEach((item, i) => {
      const rivals = items.filter((other, j) => j !== i && !this.disjoint(item, other));
      let own = this.place(item);
      for (const rival of rivals) own = cross(own, this.withoutRival(rival, place), place.pointer);
      flats.push(...own);
    });
    return flats;
  }

  private disjoint(a: Place, b: Place): boolean {
    return a !== b && this.areDisjoint([a.id], [b.id]);
  }

  private withoutRival(rival: Place, place: Place): readonly Flat[] {
    try {
      return this.not(rival);
    } catch (error) {
      if (!(error instanceof GrammarError) || error.code !== 'UNSUPPORTED') throw error;
      return refuse(
        `${place.pointer}/oneOf`,
        `the alternatives overlap, or cannot be proved not to (${error.message}); use anyOf`,
      );
    }
  }

  private not(place: Place): readonly Flat[] {
    let negation = this.negations.get(place.id);
    if (!negation) {
      const schema = { anyOf: negate(this.document, place) };
      negation = this.document.place(schema, place.pointer, place.resource);
      this.negations.set(place.id, negation);
    }
    return this.place(negation);
  }

  private conditional(place: Place, schema: JsonObject): readonly Flat[] {
    if (schema.then === undefined && schema.else === undefined) return [anything];
    const condition = this.document.child(place, schema.if, 'if');
    const side = (key: 'then' | 'else') =>
      schema[key] === undefined ? [anything] : this.place(this.document.child(place, schema[key], key));
    return [
      ...cross(this.place(condition), side('then'), place.pointer),
      ...cross(this.not(condition), side('else'), place.pointer),
    ];
  }

  private *dependencies(place: Place, schemas: JsonObject, key: string): Generator<readonly Flat[]> {
    for (const [name, value] of Object.entries(schemas)) {
      const then =
        Array.isArray(value) || typeof value === 'string' ? { required: [value].flat() as Json[] } : value;
      const absent = this.synthetic(place, { properties: { [name]: false } });
      const present = this.synthetic(place, { type: 'object', required: [name] });
      yield [
        ...this.place(absent),
        ...cross(this.place(present), this.place(this.document.child(place, then, key, name)), place.pointer),
      ];
    }
  }

  private synthetic(place: Place, schema: JsonObject): Place {
    return this.document.place(schema, place.pointer, place.resource);
  }

  private list(place: Place, schema: JsonObject, key: string): readonly Json[] {
    const value = schema[key];
    if (!Array.isArray(value)) return invalid(`${place.pointer}/${key}`, 'must be an array');
    if (value.length > MAX_ALTERNATIVES) tooMany(`${place.pointer}/${key}`, value.length);
    return value;
  }

  private schemas(place: Place, schema: JsonObject, key: string): Place[] {
    if (schema[key] === undefined) return [];
    return this.list(place, schema, key).map((item, i) => this.document.child(place, item, key, i));
  }
}

function cross(a: readonly Flat[], b: readonly Flat[], pointer: string): readonly Flat[] {
  if (a.length * b.length > MAX_ALTERNATIVES * 10) tooMany(pointer, a.length * b.length);
  const all = a.flatMap((left) => b.map((right) => intersect(left, right)));
  const possible = all.filter((flat) => flat.types !== 0 && flat.values?.length !== 0);
  if (possible.length > MAX_ALTERNATIVES) tooMany(pointer, possible.length);
  return possible;
}

function tooMany(pointer: string, count: number): never {
  throw new GrammarError(
    'TOO_COMPLEX',
    pointer || '/',
    `the schema has ${count} alternatives here; the bound is ${MAX_ALTERNATIVES}. Use fewer values, or fewer nested anyOf, oneOf, if`,
  );
}

/** A schema that only `value`, an object or an array, fits. */
function fixed(value: Json): JsonObject {
  if (Array.isArray(value))
    return {
      type: 'array',
      prefixItems: value.map((item) => ({ const: item })),
      items: false,
      minItems: value.length,
    };
  const entries = Object.entries(value as JsonObject);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([key, item]) => [key, { const: item }])),
    required: entries.map(([key]) => key),
    additionalProperties: false,
  };
}
