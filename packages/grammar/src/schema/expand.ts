import { GrammarError } from '../error.js';
import type { Work } from '../turns.js';
import type { Document, Place } from './document.js';
import { anything, type Conjunction, type Flat, intersect } from './flat.js';
import { countMembers, hasParts, isObject, type Json, type JsonObject } from './json.js';
import { invalid, type KeywordOptions, MAX_ALTERNATIVES, readKeywords, refuse, tooMany } from './keywords.js';
import { negate, notTypes } from './negate.js';

const MAX_EXCLUSIVE = 200;
const MAX_DEPTH = 100;
const MAX_MEMBERS = 2000; // of an object in enum and const
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

  /** The alternatives of schemas that all hold, in parts. */
  *conjunction(ids: Conjunction): Work<readonly Flat[]> {
    let all: readonly Flat[] = [anything];
    for (const id of ids) {
      const place = this.document.at(id);
      all = yield* cross(all, yield* this.place(place), place.pointer);
    }
    return all;
  }

  /** Expands a place and all that it combines, the innermost first, in parts. Faults wait for the expansion itself. */
  *prepare(id: number): Work<void> {
    const open: { readonly place: Place; readonly parts: Place[] }[] = [];
    const enter = (place: Place) => {
      if (this.prepared.has(place.id)) return;
      this.prepared.add(place.id);
      open.push({ place, parts: withoutFaults(() => this.partsOf(place), []) });
    };
    enter(this.document.at(id));
    for (let last = open.at(-1); last; last = open.at(-1)) {
      const part = last.parts.pop();
      if (part) enter(part);
      else {
        open.pop();
        yield* this.finish(last.place);
      }
      yield;
    }
  }

  /** What a place combines, the first last. */
  private partsOf(place: Place): Place[] {
    const { schema } = place;
    if (typeof schema === 'boolean') return [];
    this.own(place);
    const parts = typeof schema.$ref === 'string' ? [this.document.resolve(place, schema.$ref)] : [];
    for (const key of ['allOf', 'anyOf', 'oneOf']) parts.push(...this.schemas(place, schema, key));
    for (const key of ['if', 'then', 'else'])
      if (schema[key] !== undefined) parts.push(this.document.child(place, schema[key], key));
    return parts.reverse();
  }

  private *finish(place: Place): Work<void> {
    try {
      const { schema } = place;
      if (typeof schema !== 'boolean') yield* this.compareAll(this.schemas(place, schema, 'oneOf'));
      yield* this.place(place);
    } catch (error) {
      if (!(error instanceof GrammarError)) throw error;
    }
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

  private *place(place: Place): Work<readonly Flat[]> {
    const known = this.known.get(place.id);
    if (known) return known;
    if (this.open.has(place.id)) throw new Cycle(place.pointer);
    if (this.open.size > MAX_DEPTH)
      throw new GrammarError('TOO_COMPLEX', place.pointer, `combined more than ${MAX_DEPTH} deep`);
    this.open.add(place.id);
    try {
      const flats = yield* this.compute(place);
      this.known.set(place.id, flats);
      return flats;
    } finally {
      this.open.delete(place.id);
    }
  }

  private *compute(place: Place): Work<readonly Flat[]> {
    const { schema, pointer } = place;
    if (typeof schema === 'boolean') return [schema ? anything : nothing];
    if (schema.$ref !== undefined && typeof schema.$ref !== 'string')
      invalid(`${pointer}/$ref`, 'must be a text');
    if (typeof schema.$ref === 'string' && this.isOldReference())
      return yield* this.reference(place, schema.$ref);
    let flats: readonly Flat[] = [this.own(place)];
    for (const factor of this.factors(place, schema)) flats = yield* cross(flats, yield* factor, pointer);
    return flats;
  }

  /** Up to draft 7, keywords beside $ref are ignored. */
  private isOldReference(): boolean {
    const { schema } = this.document.root;
    return isObject(schema) && /draft-0[3467]/.test(String(schema.$schema));
  }

  private *reference(place: Place, reference: string): Work<readonly Flat[]> {
    return yield* this.place(this.document.resolve(place, reference));
  }

  /** For each combinator its alternatives; all combinators hold together. */
  private *factors(place: Place, schema: JsonObject): Generator<Work<readonly Flat[]>, void> {
    if (typeof schema.$ref === 'string') yield this.reference(place, schema.$ref);
    if (schema.const !== undefined) yield this.values(place, [schema.const], 'const');
    if (schema.enum !== undefined) yield this.values(place, this.list(place, schema, 'enum'), 'enum');
    for (const item of this.schemas(place, schema, 'allOf')) yield this.place(item);
    if (schema.anyOf !== undefined) yield this.any(this.schemas(place, schema, 'anyOf'));
    if (schema.oneOf !== undefined) yield this.exactlyOne(place, this.schemas(place, schema, 'oneOf'));
    if (schema.not !== undefined) yield this.not(this.document.child(place, schema.not, 'not'));
    if (schema.if !== undefined) yield this.conditional(place, schema);
    for (const key of ['dependentSchemas', 'dependencies'])
      if (isObject(schema[key])) yield* this.dependencies(place, schema[key] as JsonObject, key);
    yield* this.internal(schema);
  }

  /** Keywords that only negate.ts writes. */
  private *internal(schema: JsonObject): Generator<Work<readonly Flat[]>, void> {
    if (schema.$excluded !== undefined) yield only({ ...anything, excluded: schema.$excluded as Json[] });
    if (typeof schema.$notPlace === 'number') yield this.not(this.document.at(schema.$notPlace));
    if (schema.$notType === undefined) return;
    const { bits, fractions } = notTypes(schema.$notType);
    if (fractions) refuse('/', 'numbers that are not integers cannot be enforced; use type instead of not');
    yield only({ ...anything, types: bits });
  }

  private *any(items: readonly Place[]): Work<readonly Flat[]> {
    const flats: Flat[] = [];
    for (const item of items) {
      flats.push(...(yield* this.place(item)));
      yield;
    }
    return flats;
  }

  private *values(place: Place, values: readonly Json[], key: string): Work<readonly Flat[]> {
    const plain = values.filter((value) => !hasParts(value));
    const built = values.filter(hasParts).map((value, i) => {
      if (countMembers(value, MAX_MEMBERS) > MAX_MEMBERS) tooLarge(`${place.pointer}/${key}`);
      return this.document.child(place, fixed(value), key, i);
    });
    const flats = yield* this.any(built);
    return plain.length > 0 ? [{ ...anything, values: plain }, ...flats] : flats;
  }

  private *exactlyOne(place: Place, items: readonly Place[]): Work<readonly Flat[]> {
    if (items.length > MAX_EXCLUSIVE)
      throw new GrammarError(
        'TOO_COMPLEX',
        `${place.pointer}/oneOf`,
        `more than ${MAX_EXCLUSIVE} alternatives (${items.length})`,
      );
    const flats: Flat[] = [];
    for (const [i, item] of items.entries()) {
      let own = yield* this.place(item);
      for (const [j, other] of items.entries()) {
        if (j === i || this.disjoint(item, other)) continue;
        own = yield* cross(own, yield* this.withoutRival(other, place), place.pointer);
      }
      yield;
      flats.push(...own);
    }
    return flats;
  }

  private disjoint(a: Place, b: Place): boolean {
    return a !== b && this.areDisjoint([a.id], [b.id]);
  }

  private *withoutRival(rival: Place, place: Place): Work<readonly Flat[]> {
    try {
      return yield* this.not(rival);
    } catch (error) {
      if (!(error instanceof GrammarError) || error.code !== 'UNSUPPORTED') throw error;
      return refuse(
        `${place.pointer}/oneOf`,
        `the alternatives overlap, or cannot be proved not to (${error.message}); use anyOf`,
      );
    }
  }

  private *not(place: Place): Work<readonly Flat[]> {
    let negation = this.negations.get(place.id);
    if (!negation) {
      const schema = { anyOf: negate(this.document, place) };
      negation = this.document.place(schema, place.pointer, place.resource);
      this.negations.set(place.id, negation);
    }
    return yield* this.place(negation);
  }

  private *conditional(place: Place, schema: JsonObject): Work<readonly Flat[]> {
    const { then: met, else: unmet } = schema;
    if (met === undefined && unmet === undefined) return [anything];
    const condition = this.document.child(place, schema.if, 'if');
    return [
      ...(yield* cross(yield* this.place(condition), yield* this.side(place, 'then'), place.pointer)),
      ...(yield* cross(yield* this.not(condition), yield* this.side(place, 'else'), place.pointer)),
    ];
  }

  private *side(place: Place, key: 'then' | 'else'): Work<readonly Flat[]> {
    const schema = (place.schema as JsonObject)[key];
    return schema === undefined ? [anything] : yield* this.place(this.document.child(place, schema, key));
  }

  private *dependencies(
    place: Place,
    schemas: JsonObject,
    key: string,
  ): Generator<Work<readonly Flat[]>, void> {
    for (const [name, value] of Object.entries(schemas)) yield this.dependency(place, name, value, key);
  }

  private *dependency(place: Place, name: string, value: Json, key: string): Work<readonly Flat[]> {
    const then =
      Array.isArray(value) || typeof value === 'string' ? { required: [value].flat() as Json[] } : value;
    const absent = this.synthetic(place, { properties: { [name]: false } });
    const present = this.synthetic(place, { type: 'object', required: [name] });
    const child = this.document.child(place, then, key, name);
    return [
      ...(yield* this.place(absent)),
      ...(yield* cross(yield* this.place(present), yield* this.place(child), place.pointer)),
    ];
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

const PART = 64; // intersections: a fraction of a millisecond

function* cross(a: readonly Flat[], b: readonly Flat[], pointer: string): Work<readonly Flat[]> {
  if (a.length * b.length > MAX_ALTERNATIVES * 10) tooMany(pointer, a.length * b.length);
  const possible: Flat[] = [];
  let count = 0;
  for (const left of a)
    for (const right of b) {
      const flat = intersect(left, right);
      if (flat.types !== 0 && flat.values?.length !== 0) possible.push(flat);
      if (++count % PART === 0) yield;
    }
  if (possible.length > MAX_ALTERNATIVES) tooMany(pointer, possible.length);
  yield;
  return possible;
}

function* only(flat: Flat): Work<readonly Flat[]> {
  yield;
  return [flat];
}

/** What `act` returns; `otherwise` where the schema has a fault. */
function withoutFaults<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof GrammarError) return otherwise;
    throw error;
  }
}

function tooLarge(pointer: string): never {
  throw new GrammarError(
    'TOO_COMPLEX',
    pointer,
    `it holds an object of more than ${MAX_MEMBERS} members; use fewer`,
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
