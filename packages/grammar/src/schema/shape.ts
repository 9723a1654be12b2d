import { GrammarError } from '../error.js';
import type { Regex } from '../regex/regexes.js';
import { spellAny } from '../regex/spell.js';
import type { Work } from '../turns.js';
import type { Conjunction, Flat, ObjectPart } from './flat.js';
import { needFewDependents, refuse } from './keywords.js';
import { innerText, type Strings } from './strings.js';

const MAX_PATTERNS = 8;
const MAX_NAMES = 2_000;

/** What objects of one alternative may have. */
export interface ObjectShape {
  /** Keys named anywhere, with the schemas of their values. */
  readonly named: ReadonlyMap<string, Conjunction>;
  /** Other keys by classes: the expression of the key with its quotes. */
  readonly others: readonly { readonly key: Regex; readonly value: Conjunction }[];
}

/** Sorted, without duplicates. */
export const conjunction = (ids: readonly (number | undefined)[]): Conjunction =>
  [...new Set(ids.filter((id) => id !== undefined))].sort((a, b) => a - b);

/** `content`: the expression of the characters of keys that propertyNames allows. */
export function* shapeOf(strings: Strings, flat: Flat, content: Regex): Work<ObjectShape> {
  const properties = propertiesOf(flat);
  needFewDependents(flat.pointer, flat.dependent);
  const names = new Set([...properties.keys(), ...flat.required]);
  for (const [name, others] of flat.dependent) for (const key of [name, ...others]) names.add(key);
  needFew(flat, 'properties', names.size, MAX_NAMES);
  const open = flat.objects.filter((part) => part.patterns.length > 0 || part.additional !== undefined);
  const named = new Map<string, Conjunction>();
  for (const name of names) {
    const key = innerText(name);
    if (yield* strings.follow(content, key))
      named.set(
        name,
        conjunction([...(properties.get(name) ?? []), ...(yield* others(strings, open, name))]),
      );
    yield;
  }
  return { named, others: yield* otherKeys(strings, flat, names, content) };
}

/** The schemas of `properties`, by name. */
function propertiesOf(flat: Flat): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  for (const { properties } of flat.objects)
    for (const [name, schema] of properties) {
      const known = found.get(name);
      if (known) known.push(schema);
      else found.set(name, [schema]);
    }
  return found;
}

/** The schemas of a named key's value beside those of `properties`. */
function* others(strings: Strings, parts: readonly ObjectPart[], name: string): Work<(number | undefined)[]> {
  const matched = new Set<string>();
  for (const source of new Set(parts.flatMap((part) => part.patterns.map((rule) => rule.source))))
    if (yield* strings.follow(strings.matching(source), innerText(name))) matched.add(source);
  return parts.flatMap((part) => schemasOf(part, part.properties.has(name), matched));
}

/** The schemas of a key's value: all matching patterns, or else `additionalProperties` unless the key `isNamed`. */
function schemasOf(
  part: ObjectPart,
  isNamed: boolean,
  matched: ReadonlySet<string>,
): readonly (number | undefined)[] {
  const patterns = part.patterns.filter((rule) => matched.has(rule.source)).map((rule) => rule.schema);
  return isNamed || patterns.length > 0 ? patterns : [part.additional];
}

/** @throws GrammarError TOO_COMPLEX */
function needFew({ pointer }: Flat, what: string, count: number, most: number): void {
  if (count > most)
    throw new GrammarError('TOO_COMPLEX', pointer, `${count} ${what} at one place; the bound is ${most}`);
}

/** One class for each set of patterns that a key can match. */
function* otherKeys(
  strings: Strings,
  flat: Flat,
  names: ReadonlySet<string>,
  content: Regex,
): Work<ObjectShape['others']> {
  const { regexes } = strings;
  const sources = [...new Set(flat.objects.flatMap((part) => part.patterns.map((rule) => rule.source)))];
  needFew(flat, 'patternProperties', sources.length, MAX_PATTERNS);
  const named = regexes.not(yield* spellAny(regexes, [...names].map(innerText)));
  const classes = [];
  for (let set = 0; set < 1 << sources.length; set++) {
    const matched = new Set(sources.filter((_, i) => (set >> i) & 1));
    const conditions = sources.map((source) => {
      const regex = strings.matching(source);
      return matched.has(source) ? regex : regexes.not(regex);
    });
    const key = regexes.and(content, named, ...conditions);
    if (yield* strings.emptiness.decide(key)) continue;
    const value = flat.objects.flatMap((part) => schemasOf(part, false, matched));
    classes.push({ key: strings.quoted(key), value: conjunction(value) });
  }
  return classes;
}

/** Equal keys can come twice in JSON, which no grammar sees: so only one of them may count. */
export function checkCounts(flat: Flat, shape: ObjectShape): void {
  if (flat.minProperties > flat.required.length + 1 && shape.others.length > 0)
    refuse(
      `${flat.pointer}/minProperties`,
      'more than one property beside the required ones cannot be counted; name them, with additionalProperties: false',
    );
}
