import { InvalidArgumentError } from 'commander';

const times: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds: '5m', '90' (seconds), '0'; 'never' and '-1' are Infinity. */
export function durationOf(text: string): number {
  if (text === 'never' || text === '-1') return Number.POSITIVE_INFINITY;
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  if (count === undefined)
    throw new InvalidArgumentError("it must be a duration as 30s, 5m or 1h, 0, or 'never'.");
  return Number(count) * times[unit]!;
}

const prefixes = ['', 'k', 'm', 'g', 't'];

/** Bytes: '8GB' (10^9 each), '8GiB' (2^30 each), '8000000000'. */
export function bytesOf(text: string): number {
  const [, count, prefix = '', binary] = /^(\d+(?:\.\d+)?)\s*([kmgt])?(i)?b?$/i.exec(text) ?? [];
  const base = binary ? 1024 : 1000;
  const bytes = Math.floor(Number(count) * base ** prefixes.indexOf(prefix.toLowerCase()));
  if (count === undefined || (binary && prefix === '') || !Number.isSafeInteger(bytes) || bytes < 1)
    throw new InvalidArgumentError('it must be a number of bytes, as 8GB, 500MB or 7.5GiB.');
  return bytes;
}
