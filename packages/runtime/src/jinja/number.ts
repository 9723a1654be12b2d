import { TemplateFailure } from './error.js';
import type { BinaryOperator } from './nodes.js';
import type { Value } from './value.js';

/** Bits of the largest int: Python prints ints up to 4300 digits. */
const MOST_BITS = 14_284;

const toInt = (value: bigint | boolean): bigint => (typeof value === 'boolean' ? BigInt(value) : value);

const bits = (value: bigint): number => value.toString(16).length * 4;

function needSmall(count: number): void {
  if (count > MOST_BITS) throw new TemplateFailure('a whole number has more than 4300 digits');
}

/** `left operator right` of numbers, with Python's rules. */
export function arithmetic(
  operator: BinaryOperator,
  left: bigint | number | boolean,
  right: bigint | number | boolean,
): bigint | number {
  if (typeof left === 'number' || typeof right === 'number')
    return FLOAT[operator](Number(left), Number(right));
  return INT[operator](toInt(left), toInt(right));
}

const INT: Readonly<Record<BinaryOperator, (a: bigint, b: bigint) => bigint | number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => {
    needSmall(bits(a) + bits(b));
    return a * b;
  },
  '/': (a, b) => divide(Number(a), Number(b)),
  '//': (a, b) => {
    needDivisor(b !== 0n);
    return (a - modulo(a, b)) / b;
  },
  '%': (a, b) => {
    needDivisor(b !== 0n);
    return modulo(a, b);
  },
  '**': (a, b) => {
    if (b < 0n) return FLOAT['**'](Number(a), Number(b));
    if (a === 0n || a === 1n || a === -1n) return a ** (b > 2n ? 2n + (b % 2n) : b);
    needSmall(b > BigInt(MOST_BITS) ? MOST_BITS + 1 : bits(a) * Number(b));
    return a ** b;
  },
};

const FLOAT: Readonly<Record<BinaryOperator, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': divide,
  '//': (a, b) => {
    needDivisor(b !== 0);
    return Math.floor(a / b);
  },
  '%': (a, b) => {
    needDivisor(b !== 0);
    const rest = a % b;
    return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
  },
  '**': (a, b) => {
    needDivisor(a !== 0 || b >= 0);
    return a ** b;
  },
};

function divide(a: number, b: number): number {
  needDivisor(b !== 0);
  return a / b;
}

/** The remainder has the sign of the divisor. */
function modulo(a: bigint, b: bigint): bigint {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
}

function needDivisor(holds: boolean): void {
  if (!holds) throw new TemplateFailure('division by zero');
}

/** A float as Python prints it. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (value !== 0 && (power < -4 || power >= 16))
    return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  const plain = String(value).includes('e') ? value.toFixed(-power + digits.length) : String(value);
  return plain.includes('.') ? trimZeros(plain) : `${plain}.0`;
}

const trimZeros = (text: string): string => text.replace(/(\.\d+?)0+$/, '$1');

/** Rounds half to even, as Python does, to `places` decimal places. */
export function roundHalfEven(value: number, places: number): number {
  if (!Number.isFinite(value) || places > 300) return value;
  const scale = 10 ** places;
  if (places > 0) return Number(exactFixed(value, places));
  const scaled = value * scale;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0);
  return (floor + (up ? 1 : 0)) / scale;
}

/** `places` decimal places of the exact binary value; half rounds to even. */
export function exactFixed(value: number, places: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [numerator, denominator] = fraction(Math.abs(value));
  const scaled = numerator * 10n ** BigInt(places);
  let digits = scaled / denominator;
  const twice = (scaled % denominator) * 2n;
  if (twice > denominator || (twice === denominator && digits % 2n === 1n)) digits++;
  const text = digits.toString().padStart(places + 1, '0');
  return places === 0 ? sign + text : `${sign}${text.slice(0, -places)}.${text.slice(-places)}`;
}

/** A finite float ≥ 0 as a fraction. */
function fraction(value: number): [numerator: bigint, denominator: bigint] {
  let power = 0;
  let whole = value;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    power++;
  }
  return [BigInt(whole), 1n << BigInt(power)];
}

/** A number used as an index or a count. @throws TemplateFailure */
export function toIndex(value: Value, what: string): number {
  if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value);
  throw new TemplateFailure(`${what} must be a whole number`);
}
