import { JsonNumber } from './json-number.js';

/**
 * `JSON.stringify`, but bigints and `JsonNumber`s are written with all digits. Undefined for what JSON cannot say.
 * @throws TypeError for a value that contains itself
 */
export function stringifyJson(value: unknown): string | undefined {
  return isUsual(value, 0) ? JSON.stringify(value) : write(value, '', []);
}

const MOST_DEPTH = 100;

/** Whether `JSON.stringify` writes a value with all digits: most values, and ten times as fast. */
function isUsual(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint';
  if (depth > MOST_DEPTH || 'toJSON' in value) return false;
  for (const key in value)
    if (!isUsual((value as Readonly<Record<string, unknown>>)[key], depth + 1)) return false;
  return true;
}

function write(given: unknown, key: string, open: object[]): string | undefined {
  const value = jsonOf(given, key);
  if (value instanceof JsonNumber) return value.text;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || isBoxed(value)) return JSON.stringify(value);
  if (open.includes(value)) throw new TypeError('cannot write a value that contains itself as JSON');
  open.push(value);
  const text = Array.isArray(value) ? list(value, open) : object(value, open);
  open.pop();
  return text;
}

const isBoxed = (value: object): boolean =>
  value instanceof Number || value instanceof String || value instanceof Boolean;

function jsonOf(value: unknown, key: string): unknown {
  if (value instanceof JsonNumber || typeof value !== 'object' || value === null) return value;
  return 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON(key) : value;
}

const list = (values: readonly unknown[], open: object[]): string =>
  `[${Array.from(values, (value, i) => write(value, String(i), open) ?? 'null').join()}]`;

function object(value: object, open: object[]): string {
  const members = Object.entries(value).flatMap(([key, each]) => {
    const text = write(each, key, open);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${members.join()}}`;
}
