import { type Builtin, define, madeText, needText, or } from '../define.js';
import { TemplateFailure } from '../error.js';
import { toIndex } from '../number.js';
import { elements } from '../sequence.js';
import { strFormat } from '../str-format.js';
import { characterCount, indexOfOffset, join, offsetOf, type Text } from '../text.js';
import * as operations from '../text-operations.js';
import type { Context } from '../value.js';
import { Dict, Tuple, text, type Value } from '../value.js';
import { isSpace } from '../white-space.js';

type Method = Builtin<Value, Text>;

const SPACE = text(' ');
const LETTER = /\p{L}/u;

const given = (value: Value | undefined): value is Value => value !== undefined && value !== null;

const most = (value: Value | undefined): number => {
  const count = given(value) ? toIndex(value, 'the count') : -1;
  return count < 0 ? Number.POSITIVE_INFINITY : count;
};

const stripped = (atStart: boolean, atEnd: boolean): Method =>
  define('chars', (context, input: Text, chars) =>
    operations.strip(
      context,
      input,
      given(chars) ? needText(chars, 'the characters') : undefined,
      atStart,
      atEnd,
    ),
  );

type Split = (context: Context, input: Text, separator: Text, most: number) => Text[];
type Words = (context: Context, input: Text, most: number) => Text[];

const splitting = (split: Split, words: Words): Method =>
  define('sep maxsplit', (context, input: Text, separator, count) =>
    given(separator)
      ? split(context, input, needText(separator, 'the separator'), most(count))
      : words(context, input, most(count)),
  );

const parted = (fromEnd: boolean): Method =>
  define('sep', (context, input: Text, separator) => {
    const between = needText(separator, 'the separator');
    const split = fromEnd ? operations.splitFromEnd : operations.split;
    const [first, second] = split(context, input, between, 1);
    if (second) return new Tuple([first!, between, second]);
    return new Tuple(fromEnd ? [text(''), text(''), input] : [input, text(''), text('')]);
  });

/** input[start:end] in characters, and its offset in UTF-16 units. */
function chosen(input: Text, start: Value | undefined, end: Value | undefined): { part: Text; at: number } {
  if (!given(start) && !given(end)) return { part: input, at: 0 };
  const count = characterCount(input);
  const clip = (value: number) => Math.min(Math.max(value < 0 ? value + count : value, 0), count);
  const from = given(start) ? clip(toIndex(start, 'the start')) : 0;
  const to = given(end) ? clip(toIndex(end, 'the end')) : count;
  const at = offsetOf(input, from);
  return { part: input.slice(at, Math.max(at, offsetOf(input, to))), at };
}

/** Index of `sub` in characters; -1 where it does not occur. */
const found = (last: boolean, needed: boolean): Method =>
  define('sub start end', ({ budget }, input: Text, sub, start, end) => {
    budget.read(input.length);
    const { value } = needText(sub, 'the string to find');
    const { part, at } = chosen(input, start, end);
    const offset = last ? part.value.lastIndexOf(value) : part.value.indexOf(value);
    if (offset < 0 && needed) throw new TemplateFailure('index(): the string is not found');
    return BigInt(offset < 0 ? -1 : indexOfOffset(input, at + offset));
  });

const ending = (matches: (part: string, affix: string) => boolean): Method =>
  define('affix start end', ({ budget }, input: Text, affix, start, end) => {
    const { part } = chosen(input, start, end);
    const choices = affix instanceof Tuple ? affix.items : [affix];
    return choices.some((choice) => {
      const { value } = needText(choice, 'what the string begins or ends with');
      budget.read(value.length);
      return matches(part.value, value);
    });
  });

const padded = (share: (missing: number, width: number) => number): Method =>
  define('width fillchar', (context, input: Text, width, fill) => {
    const columns = toIndex(or(width, 0n), 'the width');
    const filling = needText(or(fill, SPACE), 'the fill');
    return operations.pad(context, input, columns, filling, (missing) => share(missing, columns));
  });

/** Whether the string is not empty and every character matches. */
const every = (kind: RegExp): Method =>
  define('', ({ budget }, input: Text) => {
    budget.step(input.length);
    return input.length > 0 && Array.from(input.value).every((character) => kind.test(character));
  });

const cased = (to: 'toLowerCase' | 'toUpperCase'): Method =>
  define('', ({ budget }, { value }: Text) => {
    budget.read(value.length);
    return value === value[to]() && value.toLowerCase() !== value.toUpperCase();
  });

const simple = (change: (context: Context, input: Text) => Value): Method =>
  define('', (context, input: Text) => change(context, input));

/** Handles characters that fold to two: ß becomes ss. */
const foldCase = (run: string): string => run.toLowerCase().toUpperCase().toLowerCase();

const swapCase = (run: string): string =>
  Array.from(run, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('');

function expandTabs(context: Context, input: Text, size: number): Text {
  let column = 0;
  const parts = elements(input, context.budget).map((character) => {
    const each = needText(character, 'a character');
    if (each.value === '\n' || each.value === '\r') column = 0;
    else if (each.value !== '\t') column++;
    else {
      const width = size > 0 ? size - (column % size) : 0;
      column += width;
      return operations.repeat(context, SPACE, width);
    }
    return each;
  });
  return madeText(context, join(parts));
}

function zeroFill(context: Context, input: Text, width: number): Text {
  const sign = /^[-+]/.test(input.value) ? 1 : 0;
  const zeros = operations.repeat(context, text('0'), width - characterCount(input));
  return join([input.slice(0, sign), zeros, input.slice(sign)]);
}

function isTitle({ value }: Text): boolean {
  const words = value.match(/\p{L}+/gu);
  return words?.every((word) => word === word[0]!.toUpperCase() + word.slice(1).toLowerCase()) ?? false;
}

const withoutAffix = (input: Text, affix: string, atStart: boolean): Text => {
  if (affix === '' || !(atStart ? input.value.startsWith(affix) : input.value.endsWith(affix))) return input;
  return atStart ? input.slice(affix.length) : input.slice(0, input.length - affix.length);
};

/** The methods of Python's str, without those for bytes and translation tables. */
export const textMethods: Readonly<Record<string, Method>> = {
  capitalize: simple(operations.capitalize),
  casefold: simple((context, input) => madeText(context, input.map(foldCase))),
  center: padded((missing, width) => operations.centred(width)(missing)),
  count: define('sub start end', (context, input: Text, sub, start, end) => {
    const { part } = chosen(input, start, end);
    const { length } = needText(sub, 'the string to count');
    if (length === 0) return BigInt(characterCount(part) + 1);
    return BigInt(operations.split(context, part, needText(sub, ''), Number.POSITIVE_INFINITY).length - 1);
  }),
  endswith: ending((part, affix) => part.endsWith(affix)),
  expandtabs: define('tabsize', (context, input: Text, size) =>
    expandTabs(context, input, toIndex(or(size, 8n), 'the tab size')),
  ),
  find: found(false, false),
  format: strFormat,
  format_map: define('mapping', (context, input: Text, mapping) => {
    if (!(mapping instanceof Dict)) throw new TemplateFailure('format_map() needs a dict');
    const keyword = mapping.pairs().map(([key, value]) => [needText(key, 'a key').value, value] as const);
    return strFormat(context, input, { positional: [], keyword: new Map(keyword) });
  }),
  index: found(false, true),
  isalnum: every(/[\p{L}\p{N}]/u),
  isalpha: every(LETTER),
  isascii: define('', ({ budget }, { value }: Text) => {
    budget.read(value.length);
    return !/[^\0-\x7f]/.test(value);
  }),
  isdecimal: every(/\p{Nd}/u),
  isdigit: every(/[\p{Nd}²³¹⁰⁴-⁹₀-₉]/u),
  isidentifier: define('', (_, { value }: Text) =>
    /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*$/u.test(value),
  ),
  islower: cased('toLowerCase'),
  isnumeric: every(/\p{N}/u),
  isprintable: define('', ({ budget }, { value }: Text) => {
    budget.read(value.length);
    return !/[^\P{C}]|[^\P{Z} ]/u.test(value);
  }),
  isspace: define('', ({ budget }, { value }: Text) => {
    budget.step(value.length);
    return value !== '' && Array.from(value).every(isSpace);
  }),
  istitle: simple((_, input) => isTitle(input)),
  isupper: cased('toUpperCase'),
  join: define('iterable', (context, input: Text, iterable) => {
    const parts = elements(or(iterable, null), context.budget).map((part) =>
      needText(part, 'each part of join()'),
    );
    return operations.joinTexts(context, parts, input);
  }),
  ljust: padded(() => 0),
  lower: simple(operations.lower),
  lstrip: stripped(true, false),
  partition: parted(false),
  removeprefix: define('prefix', (context, input: Text, prefix) =>
    madeText(context, withoutAffix(input, needText(prefix, 'the prefix').value, true)),
  ),
  removesuffix: define('suffix', (context, input: Text, suffix) =>
    madeText(context, withoutAffix(input, needText(suffix, 'the suffix').value, false)),
  ),
  replace: define('old new count', (context, input: Text, old, replacement, count) =>
    operations.replace(
      context,
      input,
      needText(old, 'the old string'),
      needText(replacement, 'the new string'),
      most(count),
    ),
  ),
  rfind: found(true, false),
  rindex: found(true, true),
  rjust: padded((missing) => missing),
  rpartition: parted(true),
  rsplit: splitting(operations.splitFromEnd, operations.wordsFromEnd),
  rstrip: stripped(false, true),
  split: splitting(operations.split, operations.words),
  splitlines: define('keepends', (context, input: Text, keepEnds) =>
    operations.lines(context, input, Boolean(or(keepEnds, false))),
  ),
  startswith: ending((part, affix) => part.startsWith(affix)),
  strip: stripped(true, true),
  swapcase: simple((context, input) => madeText(context, input.map(swapCase))),
  title: simple((context, input) => operations.titled(context, input, (character) => LETTER.test(character))),
  upper: simple(operations.upper),
  zfill: define('width', (context, input: Text, width) =>
    zeroFill(context, input, toIndex(or(width, 0n), 'the width')),
  ),
};
