import { asText, type Builtin, define, madeText, needText, or } from '../define.js';
import { TemplateFailure } from '../error.js';
import { toIndex } from '../number.js';
import { printf } from '../printf.js';
import { elements } from '../sequence.js';
import { characterCount, concat, EMPTY, join, offsetOf, Text } from '../text.js';
import * as operations from '../text-operations.js';
import { type JsonStyle, toJson } from '../to-json.js';
import type { Context } from '../value.js';
import { Dict, Tuple, text, truth, Undefined, type Value } from '../value.js';
import { wrapLine } from './word-wrap.js';

const NEWLINE = text('\n');
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

/** Word boundaries of Jinja's `title`. str.title uses letters instead. */
const TITLE_BREAK = /[-\s({[<]/;

const onText = (change: (context: Context, input: Text) => Text): Builtin =>
  define('', (context, input: Value) => change(context, asText(context, input)));

const escapeHtml = (context: Context, input: Text): Text =>
  madeText(
    context,
    input.map((run) => run.replace(/[&<>"']/g, (character) => ENTITIES[character]!)),
  );

function indent(context: Context, input: Text, indentation: Text, first: boolean, blank: boolean): Text {
  const lines = operations.lines(context, concat(input, NEWLINE), false);
  context.budget.characters(input.length + lines.length * (indentation.length + 1));
  const indented = lines.map((line, i) => {
    const goes = i === 0 ? first : blank || line.length > 0;
    return goes ? concat(indentation, line) : line;
  });
  return join(indented, NEWLINE);
}

function truncate(
  context: Context,
  input: Text,
  most: number,
  killWords: boolean,
  end: Text,
  leeway: number,
): Text {
  if (characterCount(input) <= most + leeway) return input;
  const room = most - characterCount(end);
  if (room < 0) throw new TemplateFailure(`truncate: length ${most} is less than that of the end`);
  const kept = input.slice(0, offsetOf(input, room));
  if (killWords) return madeText(context, concat(kept, end));
  return madeText(context, concat(operations.splitFromEnd(context, kept, text(' '), 1)[0]!, end));
}

function jsonStyle(indentation: Value, separators: Value, ascii: Value, sortKeys: Value): JsonStyle {
  const given =
    separators instanceof Tuple ? separators.items : Array.isArray(separators) ? separators : undefined;
  const lines = indentation !== null;
  return {
    ascii: truth(ascii),
    indent:
      indentation instanceof Text ? indentation.value : lines ? ' '.repeat(spaces(indentation)) : undefined,
    itemSeparator: given ? needText(given[0], 'a separator').value : lines ? ',' : ', ',
    keySeparator: given ? needText(given[1], 'a separator').value : ': ',
    sortKeys: truth(sortKeys),
  };
}

function spaces(indentation: Value): number {
  const count = toIndex(indentation, 'the indentation');
  if (count > 100) throw new TemplateFailure(`an indentation of ${count} is more than 100`);
  return Math.max(0, count);
}

const percentEncode = (safe: RegExp) => (run: string) =>
  run.replace(/[^A-Za-z0-9_.~-]/gu, (character) =>
    safe.test(character) ? character : encodeURIComponent(wellFormed(character)).replace(/[!'()*]/g, hex),
  );

/** Replaces lone surrogates by U+FFFD. */
const wellFormed = (character: string): string => character.replace(/\p{Surrogate}/gu, '\ufffd');

const hex = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

function urlEncode(context: Context, input: Value): Text {
  const whole = (value: Value) => madeText(context, asText(context, value).map(percentEncode(/\//)));
  const part = (value: Value) =>
    madeText(
      context,
      asText(context, value).map((run) => percentEncode(/(?!)/)(run).replaceAll('%20', '+')),
    );
  if (input instanceof Text || !(input instanceof Dict || Array.isArray(input))) return whole(input);
  const pairs =
    input instanceof Dict
      ? input.pairs()
      : elements(input, context.budget).map((pair) => elements(pair, context.budget));
  return join(
    pairs.map(([key, value]) => join([part(key!), part(value!)], text('='))),
    text('&'),
  );
}

function xmlAttributes(context: Context, input: Value, space: boolean): Text {
  if (!(input instanceof Dict)) throw new TemplateFailure('xmlattr needs a dict');
  const parts = input
    .pairs()
    .filter(([, value]) => value !== null && !(value instanceof Undefined))
    .map(([key, value]) =>
      join([
        escapeHtml(context, asText(context, key)),
        text('="'),
        escapeHtml(context, asText(context, value)),
        text('"'),
      ]),
    );
  const all = join(parts, text(' '));
  return space && all.length > 0 ? concat(text(' '), all) : all;
}

/** Without tags and comments; runs of white space become one space. */
function stripTags(context: Context, input: Text): Text {
  let rest = input;
  for (const [open, close] of [
    ['<!--', '-->'],
    ['<', '>'],
  ] as const)
    rest = without(rest, open, close);
  return join(operations.words(context, rest, Number.POSITIVE_INFINITY), text(' ')).map((run) =>
    run.replace(/&(?:lt|gt|amp|quot|#34|#39);/g, (entity) => UNESCAPED[entity]!),
  );
}

const UNESCAPED: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&#34;': '"',
  '&#39;': "'",
};

function without(input: Text, open: string, close: string): Text {
  const kept: Text[] = [];
  let at = 0;
  for (let start = input.value.indexOf(open); start >= 0; start = input.value.indexOf(open, at)) {
    const end = input.value.indexOf(close, start);
    if (end < 0) break;
    kept.push(input.slice(at, start));
    at = end + close.length;
  }
  return join([...kept, input.slice(at)]);
}

/** Filters with a string as result. */
export const textFilters = {
  capitalize: onText(operations.capitalize),
  center: define('width', (context, input: Value, width) => {
    const columns = toIndex(or(width, 80n), 'the width');
    return operations.pad(context, asText(context, input), columns, text(' '), operations.centred(columns));
  }),
  e: onText(escapeHtml),
  escape: onText(escapeHtml),
  forceescape: onText(escapeHtml),
  format: (context, input, { positional, keyword }) => {
    const named = new Dict([...keyword].map(([name, value]) => [text(name), value] as const));
    return printf(context, asText(context, input), keyword.size > 0 ? named : new Tuple(positional));
  },
  indent: define('width first blank', (context, input: Value, width, first, blank) => {
    const by = or(width, 4n);
    const indentation =
      by instanceof Text ? by : operations.repeat(context, text(' '), toIndex(by, 'the width'));
    return indent(
      context,
      needText(input, 'what is indented'),
      indentation,
      truth(or(first, false)),
      truth(or(blank, false)),
    );
  }),
  lower: onText(operations.lower),
  replace: define('old new count', (context, input: Value, old, replacement, count) =>
    operations.replace(
      context,
      asText(context, input),
      asText(context, or(old, EMPTY)),
      asText(context, or(replacement, EMPTY)),
      count === undefined || count === null ? Number.POSITIVE_INFINITY : toIndex(count, 'the count'),
    ),
  ),
  safe: onText((_, input) => input),
  string: onText((_, input) => input),
  striptags: onText(stripTags),
  title: onText((context, input) =>
    operations.titled(context, input, (character) => !TITLE_BREAK.test(character)),
  ),
  tojson: define(
    'ensure_ascii indent separators sort_keys',
    ({ budget }, input: Value, ascii, indentation, separators, sort) =>
      toJson(
        input,
        jsonStyle(or(indentation, null), or(separators, null), or(ascii, false), or(sort, false)),
        budget,
      ),
  ),
  trim: define('chars', (context, input: Value, chars) =>
    operations.strip(context, asText(context, input), chars instanceof Text ? chars : undefined, true, true),
  ),
  truncate: define('length killwords end leeway', (context, input: Value, most, killWords, end, leeway) =>
    truncate(
      context,
      asText(context, input),
      toIndex(or(most, 255n), 'the length'),
      truth(or(killWords, false)),
      needText(or(end, text('...')), 'the end'),
      toIndex(leeway === undefined || leeway === null ? 5n : leeway, 'the leeway'),
    ),
  ),
  upper: onText(operations.upper),
  urlencode: define('', (context, input: Value) => urlEncode(context, input)),
  wordwrap: define(
    'width break_long_words wrapstring break_on_hyphens',
    (context, input: Value, width, breakWords, wrapString, hyphens) => {
      const separator = wrapString instanceof Text ? wrapString : NEWLINE;
      const rules = {
        width: toIndex(or(width, 79n), 'the width'),
        breakWords: truth(or(breakWords, true)),
        hyphens: truth(or(hyphens, true)),
      };
      const lines = operations
        .lines(context, asText(context, input), false)
        .flatMap((line) => wrapLine(context, line, rules));
      return operations.joinTexts(context, lines, separator);
    },
  ),
  xmlattr: define('autospace', (context, input: Value, space) =>
    xmlAttributes(context, input, truth(or(space, true))),
  ),
} as const satisfies Readonly<Record<string, Builtin>>;
