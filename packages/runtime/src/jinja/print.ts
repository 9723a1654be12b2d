import { JsonNumber } from '@quern/grammar';
import type { Budget } from './budget.js';
import { floatText } from './number.js';
import { concat, EMPTY, join, Text } from './text.js';
import {
  Callable,
  Dict,
  isList,
  Namespace,
  Range,
  type Tuple,
  text,
  Undefined,
  type Value,
} from './value.js';

/** Python's str() of a value, as templates print it. */
export function toText(value: Value, budget: Budget): Text {
  if (value instanceof Text) return value;
  if (value instanceof Undefined) return EMPTY;
  const printed = toRepr(value, budget);
  budget.characters(printed.length);
  return printed;
}

/** Python's repr() of a value: strings in quotes. */
export function toRepr(value: Value, budget: Budget): Text {
  if (value instanceof Text) return reprText(value, budget);
  if (typeof value === 'bigint') return text(String(value));
  if (typeof value === 'number') return text(floatText(value));
  if (value instanceof JsonNumber) return text(value.text);
  if (typeof value === 'boolean') return text(value ? 'True' : 'False');
  if (value === null) return text('None');
  if (value instanceof Undefined) return text('Undefined');
  if (value instanceof Callable) return text(`<function ${value.name}>`);
  if (value instanceof Range) return text(rangeText(value));
  return budget.within(() => reprCollection(value, budget));
}

const rangeText = ({ start, stop, step }: Range): string =>
  step === 1 ? `range(${start}, ${stop})` : `range(${start}, ${stop}, ${step})`;

const COMMA = text(', ');

function reprCollection(value: readonly Value[] | Tuple | Dict | Namespace, budget: Budget): Text {
  if (value instanceof Namespace) {
    const fields = new Dict([...value.fields].map(([name, field]) => [text(name), field] as const));
    return wrap('<Namespace ', toRepr(fields, budget), '>');
  }
  if (value instanceof Dict) return wrap('{', join(pairsOf(value, budget), COMMA), '}');
  const items = isList(value) ? value : value.items;
  const inside = join(
    items.map((item) => counted(toRepr(item, budget), budget)),
    COMMA,
  );
  if (isList(value)) return wrap('[', inside, ']');
  return wrap('(', inside, items.length === 1 ? ',)' : ')');
}

const pairsOf = (dict: Dict, budget: Budget): Text[] =>
  dict
    .pairs()
    .map(([key, value]) =>
      counted(concat(concat(toRepr(key, budget), text(': ')), toRepr(value, budget)), budget),
    );

function counted(part: Text, budget: Budget): Text {
  budget.step();
  budget.characters(part.length);
  return part;
}

const wrap = (before: string, inside: Text, after: string): Text =>
  concat(concat(text(before), inside), text(after));

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };

function reprText(value: Text, budget: Budget): Text {
  budget.characters(value.length);
  const quote = value.value.includes("'") && !value.value.includes('"') ? '"' : "'";
  const escaped = value.map((run) =>
    run.replace(/[\\'"]|[^\P{C}]|[^\P{Z} ]/gu, (character) => escapeCharacter(character, quote)),
  );
  return wrap(quote, escaped, quote);
}

function escapeCharacter(character: string, quote: string): string {
  if (character === quote) return `\\${character}`;
  if (character === '"' || character === "'" || character === ' ') return character;
  const short = SHORT[character];
  if (short) return short;
  const code = character.codePointAt(0)!.toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, '0')}`;
  return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\U${code.padStart(8, '0')}`;
}
