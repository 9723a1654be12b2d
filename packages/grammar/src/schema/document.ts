import { GrammarError } from '../error.js';
import type { Work } from '../turns.js';
import { withExactValues } from './exact-values.js';
import { hasParts, isObject, type Json, type JsonObject, membersOf, pointerPart } from './json.js';

/** A schema and where it stands: its JSON pointer in the document. */
export interface Place {
  readonly id: number;
  readonly schema: JsonObject | boolean;
  readonly pointer: string;
  readonly resource: Resource;
}

interface Resource {
  readonly uri: string;
  readonly schema: JsonObject | boolean;
  readonly pointer: string;
}

const MAX_PLACES = 100_000;
const MAX_VALUES = 250_000;
const MAX_MEMBERS = 20_000; // of one object
const MAX_URI = 8192; // characters
const PART = 64; // values: a fraction of a millisecond
const MAX_DEPTH = 500;
const MAPS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
const VALUES = new Set(['const', 'enum', 'default', 'examples']);
const BASE = 'schema:/root';

/** The places of one schema document, and its references. Nothing is fetched: references lead into the document. */
export class Document {
  readonly root: Place;
  private readonly places: Place[] = [];
  private readonly ids = new Map<JsonObject | boolean, Place>();
  private readonly targets = new Map<string, { schema: JsonObject; pointer: string; resource: Resource }>();
  /** Within which resource each object has been scanned last. */
  private readonly scanned = new Map<object, Resource>();
  private count = 0;

  private constructor(schema: JsonObject | boolean) {
    const resource = { uri: BASE, schema, pointer: '' };
    this.targets.set(BASE, { schema: schema as JsonObject, pointer: '', resource });
    this.root = this.place(schema, '', this.resourceOf(schema, resource, ''));
  }

  /** Reads a document in parts. */
  static *read(given: unknown): Work<Document> {
    const schema = checkSchema(yield* withExactValues(given), '');
    const document = new Document(schema);
    yield* document.scan(schema, '', document.targets.get(BASE)!.resource, 0);
    return document;
  }

  at(id: number): Place {
    return this.places[id] as Place;
  }

  /** The place of a schema; one place per schema object. */
  place(schema: unknown, pointer: string, resource: Resource): Place {
    const checked = checkSchema(schema, pointer);
    const known = this.ids.get(checked);
    if (known) return known;
    if (this.places.length >= MAX_PLACES)
      throw new GrammarError('TOO_COMPLEX', pointer, `more than ${MAX_PLACES} schemas; simplify the schema`);
    const place = {
      id: this.places.length,
      schema: checked,
      pointer,
      resource: this.resourceOf(checked, resource, pointer),
    };
    this.places.push(place);
    this.ids.set(checked, place);
    return place;
  }

  /** The schema under a keyword of `place`. */
  child(place: Place, schema: unknown, ...keys: (string | number)[]): Place {
    return this.place(schema, [place.pointer, ...keys.map(pointerPart)].join('/'), place.resource);
  }

  resolve(place: Place, reference: string): Place {
    needShort(reference, `${place.pointer}/$ref`);
    const [uri, fragment = ''] = absolute(reference, place.resource.uri).split('#');
    const resource = this.targets.get(uri as string)?.resource;
    if (resource && (fragment === '' || fragment.startsWith('/'))) {
      const found = this.follow(resource, fragment) ?? this.follow(this.root.resource, fragment);
      if (found) return found;
    }
    const anchor = this.targets.get(`${uri}#${fragment}`);
    if (anchor) return this.place(anchor.schema, anchor.pointer, anchor.resource);
    throw new GrammarError(
      'BAD_REFERENCE',
      `${place.pointer}/$ref`,
      `${reference} is not in the document; put its schema under $defs`,
    );
  }

  private follow(resource: Resource, fragment: string): Place | undefined {
    let at: unknown = resource.schema;
    let within = resource;
    let { pointer } = resource;
    for (const part of fragment.split('/').slice(1)) {
      const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
      at = (at as Record<string, unknown>)[key];
      pointer += `/${pointerPart(key)}`;
      if (isObject(at)) within = this.resourceOf(at, within, pointer);
    }
    return isObject(at) || typeof at === 'boolean' ? this.place(at, pointer, within) : undefined;
  }

  private *scan(value: Json, pointer: string, parent: Resource, depth: number): Work<void> {
    if (depth > MAX_DEPTH)
      throw new GrammarError('TOO_COMPLEX', pointer, `nested more than ${MAX_DEPTH} deep`);
    if (!hasParts(value) || this.scanned.get(value as object) === parent) return;
    this.scanned.set(value as object, parent);
    if (++this.count > MAX_VALUES) this.tooMany(pointer, 'objects and arrays', MAX_VALUES);
    if (this.count % PART === 0) yield;
    const resource = isObject(value) ? this.resourceOf(value, parent, pointer) : parent;
    if (isObject(value)) this.anchors(value, pointer, resource);
    let members = 0;
    for (const [key, child] of membersOf(value as object)) {
      if (++members % PART === 0) yield;
      if (members > MAX_MEMBERS && isObject(value)) this.tooMany(pointer, 'members', MAX_MEMBERS);
      if (!hasParts(child) || (isObject(value) && VALUES.has(key))) continue;
      const at = `${pointer}/${pointerPart(key)}`;
      if (!isObject(value) || !MAPS.has(key)) yield* this.scan(child, at, resource, depth + 1);
      else if (isObject(child)) yield* this.scanMap(child, at, resource, depth + 1);
    }
  }

  /** Members of a map are schemas, whatever their names are. */
  private *scanMap(map: JsonObject, pointer: string, parent: Resource, depth: number): Work<void> {
    let members = 0;
    for (const [name, item] of membersOf(map)) {
      if (++members > MAX_MEMBERS) this.tooMany(pointer, 'members', MAX_MEMBERS);
      yield* this.scan(item, `${pointer}/${pointerPart(name)}`, parent, depth);
      if (++this.count % PART === 0) yield;
    }
  }

  private tooMany(pointer: string, what: string, most: number): never {
    throw new GrammarError(
      'TOO_COMPLEX',
      pointer || '/',
      `it has more than ${most} ${what}; simplify the schema`,
    );
  }

  private anchors(schema: JsonObject, pointer: string, resource: Resource): void {
    for (const key of ['$anchor', '$dynamicAnchor'])
      if (typeof schema[key] === 'string')
        this.targets.set(`${resource.uri}#${schema[key]}`, { schema, pointer, resource });
  }

  private resourceOf(schema: JsonObject | boolean, parent: Resource, pointer: string): Resource {
    const id = isObject(schema) ? (schema.$id ?? schema.id) : undefined;
    if (typeof id !== 'string' || !isObject(schema)) return parent;
    needShort(id, `${pointer}/$id`);
    const uri = absolute(id, parent.uri);
    if (id.startsWith('#')) {
      this.targets.set(uri, { schema, pointer, resource: parent });
      return parent;
    }
    const plain = uri.replace(/#$/, '');
    const known = this.targets.get(plain)?.resource;
    if (known) return known.schema === schema ? known : parent;
    const resource = { uri: plain, schema, pointer };
    this.targets.set(plain, { schema, pointer, resource });
    return resource;
  }
}

function checkSchema(schema: unknown, pointer: string): JsonObject | boolean {
  if (typeof schema === 'boolean' || isObject(schema)) return schema;
  throw new GrammarError('INVALID', pointer || '/', 'a schema must be an object, true or false');
}

/** @throws GrammarError TOO_COMPLEX */
function needShort(uri: string, pointer: string): void {
  if (uri.length > MAX_URI)
    throw new GrammarError(
      'TOO_COMPLEX',
      pointer,
      `it has ${uri.length} characters; at most ${MAX_URI} are read`,
    );
}

function absolute(reference: string, base: string): string {
  try {
    return new URL(reference, base).href;
  } catch {
    return reference;
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
