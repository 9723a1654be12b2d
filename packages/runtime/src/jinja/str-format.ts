import { asText } from './define.js';
import { TemplateFailure } from './error.js';
import { fixedWidth, floatDigits, integerDigits, type NumberStyle } from './format-number.js';
import { floatText } from './number.js';
import { toRepr } from './print.js';
import { characters, join, type Text, TextBuilder } from './text.js';
import type { Context } from './value.js';
import { type Arguments, computed, isNumber, text, typeName, type Value } from './value.js';

const SPEC =
  /^(?:(?<fill>.)?(?<align>[<>=^]))?(?<sign>[-+ ])?(?<alternate>#)?(?<zero>0)?(?<width>\d+)?(?<grouping>[,_])?(?:\.(?<precision>\d+))?(?<type>[a-zA-Z%])?$/su;

/** Python's str.format. */
export function strFormat(context: Context, format: Text, args: Arguments): Text {
  const out = new TextBuilder();
  const { value } = format;
  const numbering = new Numbering();
  for (let at = 0; at < value.length; ) {
    const brace = nextBrace(value, at);
    out.add(format.slice(at, brace));
    if (brace === value.length) break;
    if (value[brace + 1] === value[brace]) {
      out.add(format.slice(brace, brace + 1));
      at = brace + 2;
      continue;
    }
    const end = value.indexOf('}', brace);
    if (value[brace] === '}' || end < 0) throw new TemplateFailure("a single '{' or '}' in a format string");
    out.add(field(context, value.slice(brace + 1, end), args, numbering));
    at = end + 1;
  }
  context.budget.characters(out.length);
  return out.text();
}

function nextBrace(value: string, at: number): number {
  const next = value.slice(at).search(/[{}]/);
  return next < 0 ? value.length : at + next;
}

/** Fields are numbered explicitly or automatically, not both. */
class Numbering {
  private places = 0;
  private numbered = false;

  next(): number {
    this.needOne(this.numbered);
    return this.places++;
  }

  given(name: string): string {
    if (/^\d+$/.test(name)) {
      this.numbered = true;
      this.needOne(this.places > 0);
    }
    return name;
  }

  private needOne(both: boolean): void {
    if (both) throw new TemplateFailure('a format numbers all of its fields, or none');
  }
}

const FIELD =
  /^(?<first>[^.[!:]*)(?<path>(?:\.[^.[!:]+|\[[^\]]*\])*)(?:!(?<conversion>[rsa]))?(?::(?<spec>.*))?$/s;

function field(context: Context, source: string, args: Arguments, numbering: Numbering): Text {
  const groups = FIELD.exec(source)?.groups;
  if (!groups) throw new TemplateFailure(`the format field {${source}} is not understood`);
  const { first = '', path = '', conversion, spec = '' } = groups;
  const key = first === '' ? numbering.next() : numbering.given(first);
  const found = /^\d+$/.test(String(key)) ? args.positional[Number(key)] : args.keyword.get(String(key));
  if (found === undefined) throw new TemplateFailure(`the format asks for {${key}}, which is not given`);
  const value = follow(context, found, path);
  if (conversion === undefined) return formatValue(context, value, spec);
  const converted = conversion === 's' ? asText(context, value) : toRepr(value, context.budget);
  return formatValue(context, converted, spec);
}

function follow(context: Context, start: Value, path: string): Value {
  let value = start;
  for (const [step] of path.matchAll(/\.[^.[]+|\[[^\]]*\]/g)) {
    const name = step.startsWith('.') ? step.slice(1) : step.slice(1, -1);
    if (step.startsWith('.')) value = context.attribute(value, name);
    else value = context.item(value, /^\d+$/.test(name) ? BigInt(name) : text(name));
  }
  return value;
}

/** Python's format(value, spec). */
export function formatValue(context: Context, value: Value, spec: string): Text {
  if (spec === '') return asText(context, value);
  const found = SPEC.exec(spec)?.groups;
  if (!found) throw new TemplateFailure(`the format specification "${spec}" is not understood`);
  const { fill, zero, width = '0', type } = found;
  const number = computed(value);
  const isNumeric = isNumber(number) && type !== 's';
  const align = found.align ?? (zero && isNumeric ? '=' : isNumeric ? '>' : '<');
  const body = isNumeric ? text(digitsOf(context, number, type, found)) : cut(context, value, found);
  return fixedWidth(context, body, Number(width), align, text(fill ?? (zero ? '0' : ' ')));
}

function cut(
  context: Context,
  value: Value,
  { type, precision }: Readonly<Record<string, string | undefined>>,
): Text {
  if (type !== undefined && type !== 's')
    throw new TemplateFailure(`format code '${type}' needs a number, not ${typeName(value)}`);
  const whole = asText(context, value);
  return precision === undefined ? whole : join(characters(whole).slice(0, Number(precision)));
}

function digitsOf(
  context: Context,
  value: bigint | number | boolean,
  type: string | undefined,
  spec: Readonly<Record<string, string | undefined>>,
): string {
  const style: NumberStyle = {
    sign: spec.sign ?? '-',
    alternate: spec.alternate !== undefined,
    precision: spec.precision === undefined ? undefined : Number(spec.precision),
    grouping: spec.grouping,
  };
  if (type === '%') return `${floatDigits(context, Number(value) * 100, 'f', style)}%`;
  if (typeof value !== 'number' && (type === undefined || 'dxXob'.includes(type)))
    return integerDigits(context, BigInt(value), type ?? 'd', style);
  if (type === undefined && style.precision === undefined) return floatText(Number(value));
  if (type !== undefined && !'eEfFgG'.includes(type))
    throw new TemplateFailure(`unknown format code '${type}' for ${typeName(value)}`);
  return floatDigits(context, Number(value), type ?? 'g', style);
}
