import { type ExactNumber, JsonNumber } from './json-number.js';

export const isExactNumber = (value: unknown): value is ExactNumber =>
  typeof value === 'number' || typeof value === 'bigint' || value instanceof JsonNumber;

/** The digits before and after the point of a number's magnitude, without exponent. */
export function decimal(value: ExactNumber): [whole: string, fraction: string] {
  const [mantissa = '0', exponent = '0'] = String(value).replace(/^-/, '').split(/e/i);
  const [whole = '0', fraction = ''] = mantissa.split('.');
  const shift = Number(exponent);
  const digits = whole + fraction;
  const point = whole.length + shift;
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const at = Math.max(point, 1);
  return [padded.slice(0, at).replace(/^0+(?=\d)/, ''), padded.slice(at).replace(/0+$/, '')];
}

/** -1, 0 or 1. */
export function sign(value: ExactNumber): -1 | 0 | 1 {
  const [whole, fraction] = decimal(value);
  if (whole === '0' && fraction === '') return 0;
  return String(value).startsWith('-') ? -1 : 1;
}

/** Negative where a is less than b: by their digits, not by their nearest float64. */
export function compareNumbers(a: ExactNumber, b: ExactNumber): number {
  const [signA, signB] = [sign(a), sign(b)];
  return signA === signB ? signA * compareMagnitudes(a, b) : signA - signB;
}

function compareMagnitudes(a: ExactNumber, b: ExactNumber): number {
  const [[wholeA, fractionA], [wholeB, fractionB]] = [decimal(a), decimal(b)];
  if (wholeA.length !== wholeB.length) return wholeA.length - wholeB.length;
  if (wholeA !== wholeB) return wholeA < wholeB ? -1 : 1;
  return fractionA === fractionB ? 0 : fractionA < fractionB ? -1 : 1;
}
