import { TemplateFailure } from './error.js';
import { exactFixed, floatText } from './number.js';
import { characterCount, join, type Text } from './text.js';
import { repeat } from './text-operations.js';
import type { Context } from './value.js';

export interface NumberStyle {
  /** '-': only for negative numbers; '+': always; ' ': a space in place of the plus. */
  readonly sign: string;
  /** Prefix such as 0x before the digits. */
  readonly alternate: boolean;
  readonly precision: number | undefined;
  /** ',' or '_' between groups of digits. */
  readonly grouping?: string | undefined;
}

const BASES: Readonly<Record<string, number>> = { d: 10, x: 16, X: 16, o: 8, b: 2 };

/** A whole number in base `type`. */
export function integerDigits(context: Context, value: bigint, type: string, style: NumberStyle): string {
  const digits = (value < 0n ? -value : value).toString(BASES[type]);
  context.budget.characters(Math.max(digits.length, style.precision ?? 0));
  const prefix = style.alternate && type !== 'd' ? `0${type}` : '';
  const padded = grouped(digits.padStart(style.precision ?? 0, '0'), style.grouping, type === 'd' ? 3 : 4);
  return signOf(value < 0n, style) + prefix + (type === 'X' ? padded.toUpperCase() : padded);
}

/** A float in C's format e, f or g. */
export function floatDigits(context: Context, value: number, type: string, style: NumberStyle): string {
  const precision = style.precision ?? 6;
  context.budget.characters(precision + 400);
  const sign = signOf(value < 0 || Object.is(value, -0), style);
  const upper = type === type.toUpperCase();
  const body = Number.isFinite(value)
    ? grouped(
        finiteDigits(Math.abs(value), type.toLowerCase(), precision, style.alternate),
        style.grouping,
        3,
      )
    : floatText(Math.abs(value));
  return sign + (upper ? body.toUpperCase() : body);
}

function finiteDigits(value: number, type: string, precision: number, alternate: boolean): string {
  if (type === 'f') return exactFixed(value, precision);
  if (precision > 100) throw new TemplateFailure(`precision ${precision} is more than 100`);
  if (type === 'e') return exponential(value, precision);
  const significant = Math.max(1, precision);
  const power = Number(value.toExponential(significant - 1).split('e')[1]);
  const plain =
    power < -4 || power >= significant
      ? exponential(value, significant - 1)
      : exactFixed(value, significant - 1 - power);
  return alternate || !plain.includes('.') ? plain : plain.replace(/\.?0+(?=e|$)/, '');
}

function exponential(value: number, precision: number): string {
  const [digits, power = '0'] = value.toExponential(precision).split('e');
  return `${digits}e${power.startsWith('-') ? '-' : '+'}${power.replace(/^[-+]/, '').padStart(2, '0')}`;
}

const signOf = (negative: boolean, { sign }: NumberStyle): string =>
  negative ? '-' : sign === '-' ? '' : sign;

function grouped(digits: string, separator: string | undefined, size: number): string {
  if (!separator) return digits;
  const end = digits.search(/[^\da-fA-F]|$/);
  const whole = digits.slice(0, end);
  const groups: string[] = [];
  for (let at = whole.length; at > 0; at -= size) groups.unshift(whole.slice(Math.max(0, at - size), at));
  return groups.join(separator) + digits.slice(end);
}

/** Pads to `width` characters: '<' after, '>' before, '^' on both sides, '=' between sign and digits. */
export function fixedWidth(context: Context, body: Text, width: number, align: string, fill: Text): Text {
  const missing = width - characterCount(body);
  if (missing <= 0) return body;
  const signLength = align === '=' ? (/^[-+ ]?(?:0[xXob])?/.exec(body.value)?.[0].length ?? 0) : 0;
  const before = align === '<' ? 0 : align === '^' ? Math.floor(missing / 2) : missing;
  const filling = (count: number) => repeat(context, fill, count);
  return join([
    body.slice(0, signLength),
    filling(before),
    body.slice(signLength),
    filling(missing - before),
  ]);
}
