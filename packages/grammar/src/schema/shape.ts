import { GrammarError } from '../error.js';
import type { Regex } from '../regex/regexes.js';
import type { Work } from '../turns.js';
import type { Conjunction, Flat, ObjectPart } from './flat.js';
import { refuse } from './keywords.js';
import type { Strings } from './strings.js';

const MAX_PATTERNS = 8;

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
  const matches = (source: string, key: string) =>
    strings.matches(strings.matching(source), JSON.stringify(key).slice(1, -1));
  const names = new Set([...flat.objects.flatMap((part) => [...part.properties.keys()]), ...flat.required]);
  for (const [name, others] of flat.dependent) for (const key of [name, ...others]) names.add(key);
  const named = new Map<string, Conjunction>();
  for (const name of names) {
    const ids = flat.objects.flatMap((part) =>
      schemasOf(part, part.properties.get(name), (source) => matches(source, name)),
    );
    if (strings.matches(content, JSON.stringify(name).slice(1, -1))) named.set(name, conjunction(ids));
  }
  return { named, others: yield* otherKeys(strings, flat, names, content) };
}

/** The schemas of a key's value: of `properties` and all matching patterns, or else `additionalProperties`. */
function schemasOf(
  part: ObjectPart,
  own: number | undefined,
  matches: (source: string) => boolean,
): (number | undefined)[] {
  const patterns = part.patterns.filter((rule) => matches(rule.source)).map((rule) => rule.schema);
  return own !== undefined || patterns.length > 0 ? [own, ...patterns] : [part.additional];
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
  if (sources.length > MAX_PATTERNS)
    throw new GrammarError(
      'TOO_COMPLEX',
      flat.pointer,
      `${sources.length} patternProperties at one place; the bound is ${MAX_PATTERNS}`,
    );
  const named = regexes.not(
    regexes.or(...[...names].map((name) => regexes.text(JSON.stringify(name).slice(1, -1)))),
  );
  const classes = [];
  for (let set = 0; set < 1 << sources.length; set++) {
    const matched = sources.filter((_, i) => (set >> i) & 1);
    const conditions = sources.map((source) => {
      const regex = strings.matching(source);
      return matched.includes(source) ? regex : regexes.not(regex);
    });
    const key = regexes.and(content, named, ...conditions);
    if (yield* strings.emptiness.decide(key)) continue;
    const value = flat.objects.flatMap((part) =>
      schemasOf(part, undefined, (source) => matched.includes(source)),
    );
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
