import { attribute } from '../attributes.js';
import { asText, type Builtin, define, needText, or } from '../define.js';
import { TemplateFailure } from '../error.js';
import { exactFixed, roundHalfEven, toIndex } from '../number.js';
import { Text } from '../text.js';
import { words } from '../text-operations.js';
import { Callable, computed, isNumber, text, truth, typeName, Undefined, type Value } from '../value.js';

const PREFIXES = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];
const DIGITS: Readonly<Record<number, RegExp>> = {
  2: /^(?:0b)?[01]+$/i,
  8: /^(?:0o)?[0-7]+$/i,
  16: /^(?:0x)?[\da-f]+$/i,
};
const FLOAT = /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|inf(?:inity)?|nan)$/i;

function need(given: Value): bigint | number | boolean {
  const value = computed(given);
  if (isNumber(value)) return value;
  throw new TemplateFailure(`a number is needed, not ${typeName(value)}`);
}

/** Python's float(source); undefined where the source is not a number. */
function parseFloatText(source: string): number | undefined {
  const trimmed = source.trim().replace(/(?<=\d)_(?=\d)/g, '');
  if (!FLOAT.test(trimmed)) return undefined;
  const lower = trimmed.toLowerCase();
  if (lower.includes('nan')) return Number.NaN;
  return lower.includes('inf')
    ? Number.POSITIVE_INFINITY * (lower.startsWith('-') ? -1 : 1)
    : Number(trimmed);
}

function parseInteger(source: string, base: number): bigint | undefined {
  const trimmed = source.trim().replace(/(?<=\d)_(?=\d)/g, '');
  if (trimmed.length > 4300) return undefined;
  if (base === 10) return /^[-+]?\d+$/.test(trimmed) ? BigInt(trimmed.replace('+', '')) : undefined;
  const digits = trimmed.replace(/^[-+]/, '');
  if (!DIGITS[base]?.test(digits)) return undefined;
  const prefix = { 2: '0b', 8: '0o', 16: '0x' }[base] ?? '';
  const value = BigInt(prefix + digits.replace(/^0[box]/i, ''));
  return trimmed.startsWith('-') ? -value : value;
}

const truncated = (value: number | undefined, fallback: Value): Value =>
  value === undefined || !Number.isFinite(value) ? fallback : BigInt(Math.trunc(value));

function toInteger(given: Value, fallback: Value, base: number): Value {
  const value = computed(given);
  if (typeof value === 'bigint' || typeof value === 'boolean') return BigInt(value);
  if (typeof value === 'number') return truncated(value, fallback);
  if (!(value instanceof Text)) return fallback;
  return parseInteger(value.value, base) ?? truncated(parseFloatText(value.value), fallback);
}

function toFloat(given: Value, fallback: Value): Value {
  const value = computed(given);
  if (isNumber(value)) return Number(value);
  return value instanceof Text ? (parseFloatText(value.value) ?? fallback) : fallback;
}

function round(value: bigint | number | boolean, places: number, method: string): Value {
  const exact = typeof value !== 'number';
  if (method === 'common') return exact && places >= 0 ? BigInt(value) : roundHalfEven(Number(value), places);
  if (method !== 'ceil' && method !== 'floor')
    throw new TemplateFailure('method must be common, ceil or floor');
  const scale = 10 ** places;
  return Math[method](Number(value) * scale) / scale;
}

function fileSize(bytes: number, binary: boolean): string {
  const base = binary ? 1024 : 1000;
  if (bytes === 1) return '1 Byte';
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  const power = PREFIXES.findIndex((_, i) => bytes < base ** (i + 2));
  const at = power < 0 ? PREFIXES.length - 1 : power;
  const prefix = binary ? `${PREFIXES[at]!.toUpperCase()}i` : PREFIXES[at]!;
  return `${exactFixed((base * bytes) / base ** (at + 2), 1)} ${prefix}B`;
}

const fallback = define('default_value boolean', (_, input: Value, value, boolean) =>
  input instanceof Undefined || (truth(or(boolean, false)) && !truth(input)) ? or(value, text('')) : input,
);

/** Filters on numbers and on single values. */
export const valueFilters = {
  abs: define('', (_, input: Value) => {
    const value = need(input);
    if (typeof value === 'number') return Math.abs(value);
    return BigInt(value) < 0n ? -BigInt(value) : BigInt(value);
  }),
  attr: define('name', (context, input: Value, name) => {
    const key = needText(name, 'the attribute');
    const found = attribute(context, input, key.value);
    return found instanceof Callable
      ? found
      : new Undefined(`${typeName(input)} has no attribute '${key.value}'`);
  }),
  d: fallback,
  default: fallback,
  filesizeformat: define('binary', (_, input: Value, binary) =>
    text(fileSize(Number(toFloat(input, Number.NaN)), truth(or(binary, false)))),
  ),
  float: define('default', (_, input: Value, value) => toFloat(input, or(value, 0))),
  int: define('default base', (_, input: Value, value, base) =>
    toInteger(input, or(value, 0n), toIndex(or(base, 10n), 'the base')),
  ),
  round: define('precision method', (_, input: Value, precision, method) =>
    round(
      need(input),
      toIndex(or(precision, 0n), 'the precision'),
      needText(or(method, text('common')), 'the method').value,
    ),
  ),
  wordcount: define('', (context, input: Value) =>
    BigInt(words(context, asText(context, input), Number.POSITIVE_INFINITY).length),
  ),
} as const satisfies Readonly<Record<string, Builtin>>;
