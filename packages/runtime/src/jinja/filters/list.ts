import { folded, type Getter, getter } from '../attribute-path.js';
import { contains, equals, order } from '../compare.js';
import { asText, type Builtin, define, madeList, needText, or } from '../define.js';
import { TemplateFailure } from '../error.js';
import { toIndex } from '../number.js';
import { binary } from '../operators.js';
import { elementAt, elements, length } from '../sequence.js';
import { characters, EMPTY, join, Text } from '../text.js';
import { joinTexts } from '../text-operations.js';
import type { Context } from '../value.js';
import { type Arguments, Dict, found, isList, Tuple, truth, Undefined, type Value } from '../value.js';

/** `map`, `select` and similar filters treat every false value as an empty list. */
const some = (value: Value, { budget }: Context): readonly Value[] =>
  truth(value) ? elements(value, budget) : [];

const rest = ({ positional, keyword }: Arguments, from: number): Arguments => ({
  positional: positional.slice(from),
  keyword,
});

const selecting =
  (keep: boolean, byAttribute: boolean): Builtin =>
  (context, input, args) => {
    const get: Getter = byAttribute
      ? getter(context, needText(args.positional[0], 'the attribute'))
      : (value) => value;
    const at = byAttribute ? 1 : 0;
    const name = args.positional[at];
    const others = rest(args, at + 1);
    const holds = (value: Value) =>
      name === undefined
        ? truth(get(value))
        : context.test(needText(name, 'the test').value, get(value), others);
    return madeList(
      context,
      some(input, context).filter((value) => holds(value) === keep),
    );
  };

const map: Builtin = (context, input, args) => {
  const values = some(input, context);
  context.budget.elements(values.length);
  const path = args.keyword.get('attribute');
  if (args.positional.length === 0 && path !== undefined)
    return values.map(getter(context, path, args.keyword.get('default')));
  const name = needText(args.positional[0], 'the filter').value;
  return values.map((value) => context.filter(name, value, rest(args, 1)));
};

/** Stable sort with n log n comparisons, each counted in the budget. */
function sorted({ budget }: Context, values: readonly Value[], key: Getter, reverse: boolean): Value[] {
  budget.elements(2 * values.length);
  const keyed = values.map((value) => [key(value), value] as const);
  const sign = reverse ? -1 : 1;
  return keyed.sort(([a], [b]) => sign * order(a, b, budget)).map(([, value]) => value);
}

const extreme = (sign: 1 | -1): Builtin =>
  define('case_sensitive attribute', (context, input: Value, caseSensitive, path) => {
    const key = folded(getter(context, path), truth(or(caseSensitive, false)));
    const values = elements(input, context.budget);
    if (values.length === 0) return new Undefined('No aggregated item, sequence was empty.');
    return values.reduce((best, value) =>
      sign * order(key(value), key(best), context.budget) < 0 ? value : best,
    );
  });

const dictSort = define(
  'case_sensitive by reverse',
  (context: Context, input: Value, caseSensitive, by, reverse) => {
    if (!(input instanceof Dict)) throw new TemplateFailure('dictsort needs a dict');
    const chosen = needText(or(by, new Text('key')), 'by').value;
    if (chosen !== 'key' && chosen !== 'value')
      throw new TemplateFailure('dictsort sorts by "key" or "value"');
    const pairs = input.pairs().map((pair) => new Tuple(pair));
    const key = folded(getter(context, chosen === 'key' ? 0n : 1n), truth(or(caseSensitive, false)));
    return sorted(context, pairs, key, truth(or(reverse, false)));
  },
);

const groupBy = define(
  'attribute default case_sensitive',
  (context: Context, input: Value, path, fallback, caseSensitive) => {
    const get = getter(context, or(path, null), fallback);
    const key = folded(get, truth(or(caseSensitive, false)));
    const groups: { readonly key: Value; readonly values: Value[] }[] = [];
    for (const value of sorted(context, elements(input, context.budget), key, false)) {
      const last = groups.at(-1);
      if (last && equals(last.key, key(value), context.budget)) last.values.push(value);
      else groups.push({ key: key(value), values: [value] });
    }
    return groups.map(({ values }) => new Tuple([get(values[0]!), values], ['grouper', 'list']));
  },
);

const unique = define('case_sensitive attribute', (context: Context, input: Value, caseSensitive, path) => {
  const key = folded(getter(context, path), truth(or(caseSensitive, false)));
  const seen: Dict = new Dict();
  const kept = elements(input, context.budget).filter((value) => {
    const of = key(value);
    if (contains(seen, of, context.budget)) return false;
    seen.set(of, true);
    return true;
  });
  return madeList(context, kept);
});

const batch = define('linecount fill_with', (context: Context, input: Value, count, fill) => {
  const size = toIndex(or(count, null), 'the size of a batch');
  if (size < 1) throw new TemplateFailure('a batch has at least 1 element');
  const values = elements(input, context.budget);
  context.budget.elements(values.length + (fill === undefined ? 0 : size));
  const batches: Value[][] = [];
  for (let at = 0; at < values.length; at += size) batches.push(values.slice(at, at + size));
  const last = batches.at(-1);
  while (last && fill !== undefined && fill !== null && last.length < size) last.push(fill);
  return batches;
});

const slices = define('slices fill_with', (context: Context, input: Value, count, fill) => {
  const parts = toIndex(or(count, null), 'the number of slices');
  if (parts < 1) throw new TemplateFailure('there is at least 1 slice');
  const values = elements(input, context.budget);
  context.budget.elements(values.length + 2 * parts);
  const least = Math.floor(values.length / parts);
  const longer = values.length % parts;
  return Array.from({ length: parts }, (_, i) => {
    const start = i * least + Math.min(i, longer);
    const part = values.slice(start, start + least + (i < longer ? 1 : 0));
    return fill !== undefined && fill !== null && i >= longer ? [...part, fill] : part;
  });
});

const sum = define('attribute start', (context: Context, input: Value, path, start) => {
  const get = getter(context, path);
  return elements(input, context.budget).reduce<Value>(
    (total, value) => {
      const next = get(value);
      context.budget.step();
      if (next instanceof Text) throw new TemplateFailure('strings are joined by join, not by sum');
      return binary(context, '+', total, next);
    },
    or(start, 0n),
  );
});

const reverse = define('', (context: Context, input: Value) => {
  const values = elements(input, context.budget);
  context.budget.elements(values.length);
  if (input instanceof Text) return join(characters(input).reverse());
  return [...values].reverse();
});

function last(context: Context, input: Value): Value {
  const missing = () => new Undefined('No last item, sequence was empty.');
  if (isList(input)) return found(elementAt(input, -1n, context.budget), missing);
  return found(elements(input, context.budget).at(-1), missing);
}

const count = define('', ({ budget }: Context, input: Value) => BigInt(length(input, budget)));

/** Filters on lists and on other values with elements. */
export const listFilters = {
  batch,
  count,
  dictsort: dictSort,
  first: define('', ({ budget }, input: Value) =>
    found(elements(input, budget)[0], () => new Undefined('No first item, sequence was empty.')),
  ),
  groupby: groupBy,
  items: define('', (context, input: Value) => {
    if (input instanceof Undefined) return [];
    if (!(input instanceof Dict)) throw new TemplateFailure('Can only get item pairs from a mapping.');
    return madeList(
      context,
      input.pairs().map((pair) => new Tuple(pair)),
    );
  }),
  join: define('d attribute', (context, input: Value, separator, path) => {
    const parts = elements(input, context.budget).map(getter(context, path));
    return joinTexts(
      context,
      parts.map((part) => asText(context, part)),
      asText(context, or(separator, EMPTY)),
    );
  }),
  last: define('', last),
  length: count,
  list: define('', (context, input: Value) => madeList(context, elements(input, context.budget))),
  map,
  max: extreme(-1),
  min: extreme(1),
  reject: selecting(false, false),
  rejectattr: selecting(false, true),
  reverse,
  select: selecting(true, false),
  selectattr: selecting(true, true),
  slice: slices,
  sort: define(
    'reverse case_sensitive attribute',
    (context, input: Value, backwards, caseSensitive, path) => {
      const key = sortKey(context, path, truth(or(caseSensitive, false)));
      return sorted(context, elements(input, context.budget), key, truth(or(backwards, false)));
    },
  ),
  sum,
  unique,
} as const satisfies Readonly<Record<string, Builtin>>;

/** `attribute='a,b'` sorts by several attributes. */
function sortKey(context: Context, path: Value | undefined, caseSensitive: boolean): Getter {
  if (!(path instanceof Text) || !path.value.includes(','))
    return folded(getter(context, path), caseSensitive);
  const keys = path.value.split(',').map((each) => folded(getter(context, new Text(each)), caseSensitive));
  return (value) => keys.map((key) => key(value));
}
