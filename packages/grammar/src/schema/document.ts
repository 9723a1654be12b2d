import { GrammarError } from '../error.js';
import { withExactValues } from './exact-values.js';
import { isObject, type Json, type JsonObject, pointerPart } from './json.js';

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

  constructor(given: unknown) {
    const schema = withExactValues(given);
    const resource = { uri: BASE, schema: checkSchema(schema, ''), pointer: '' };
    this.targets.set(BASE, { schema: resource.schema as JsonObject, pointer: '', resource });
    this.scan(schema as Json, '', resource, 0);
    this.root = this.place(schema, '', this.resourceOf(resource.schema, resource, ''));
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

  private scan(value: Json, pointer: string, parent: Resource, depth: number): void {
    if (depth > MAX_DEPTH)
      throw new GrammarError('TOO_COMPLEX', pointer, `nested more than ${MAX_DEPTH} deep`);
    if (Array.isArray(value))
      for (const [i, item] of value.entries()) this.scan(item, `${pointer}/${i}`, parent, depth + 1);
    if (!isObject(value)) return;
    const resource = this.resourceOf(value, parent, pointer);
    for (const key of ['$anchor', '$dynamicAnchor'])
      if (typeof value[key] === 'string')
        this.targets.set(`${resource.uri}#${value[key]}`, { schema: value, pointer, resource });
    for (const [key, child] of Object.entries(value)) {
      if (VALUES.has(key)) continue;
      const at = `${pointer}/${pointerPart(key)}`;
      if (!MAPS.has(key)) this.scan(child, at, resource, depth + 1);
      else if (isObject(child))
        for (const [name, item] of Object.entries(child))
          this.scan(item, `${at}/${pointerPart(name)}`, resource, depth + 1);
    }
  }

  private resourceOf(schema: JsonObject | boolean, parent: Resource, pointer: string): Resource {
    const id = isObject(schema) ? (schema.$id ?? schema.id) : undefined;
    if (typeof id !== 'string' || !isObject(schema)) return parent;
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
