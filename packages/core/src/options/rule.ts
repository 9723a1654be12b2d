/** Rule for a value: a test, and the words after 'it must be'. */
export interface Rule<T = unknown> {
  readonly must: string;
  holds(value: unknown): value is T;
}

const numbers = (must: string, holds: (value: number) => boolean): Rule<number> => ({
  must,
  holds: (value): value is number => typeof value === 'number' && holds(value),
});

const { isSafeInteger, MAX_SAFE_INTEGER } = Number;
const isFinite32 = (x: number) => Number.isFinite(Math.fround(x));

export const finite = numbers('a finite number', Number.isFinite);
export const notNegative = numbers('a number, finite and at least 0', (x) => Number.isFinite(x) && x >= 0);
export const aboveZero = numbers('a number, finite and above 0', (x) => Number.isFinite(x) && x > 0);
export const share = numbers('a number from 0 to 1', (x) => x >= 0 && x <= 1);
export const shareAboveZero = numbers('a number above 0 and at most 1', (x) => x > 0 && x <= 1);

/** Numbers of f32 that are not below 0. */
export const float32 = numbers(notNegative.must, (x) => x >= 0 && isFinite32(x));

export const whole = (least: number, most = MAX_SAFE_INTEGER): Rule<number> =>
  numbers(
    `a whole number from ${least}${most === MAX_SAFE_INTEGER ? '' : ` to ${most}`}`,
    (x) => isSafeInteger(x) && x >= least && x <= most,
  );

const seeds = 2n ** 64n;

/** 64 bits: a number above 2^53 − 1 would be rounded; use a bigint. */
export const seed: Rule<number | bigint> = {
  must: 'a whole number from 0 to 2^64 - 1 (a bigint above 2^53)',
  holds: (value): value is number | bigint =>
    (isSafeInteger(value) || typeof value === 'bigint') &&
    (value as bigint) >= 0 &&
    (value as bigint) < seeds,
};

export const flag: Rule<boolean> = {
  must: 'true or false',
  holds: (value) => typeof value === 'boolean',
};

export const text: Rule<string> = { must: 'a string', holds: (value) => typeof value === 'string' };

/** A file or folder name that the system accepts. */
export const path: Rule<string> = {
  must: 'a path, and no part of it a zero byte',
  holds: (value): value is string => typeof value === 'string' && value !== '' && !value.includes('\0'),
};

export const oneOf = <T extends string>(choices: readonly T[]): Rule<T> => ({
  must: choices.map((choice) => `'${choice}'`).join(' or '),
  holds: (value): value is T => choices.some((choice) => choice === value),
});

/** @param each one item in words, for `must`: 'strings' */
export const listOf = <T>(each: string, rule: Rule<T>, fewest = 0): Rule<readonly T[]> => ({
  must: `a list of ${each}${fewest > 0 ? `, with ${fewest} at least` : ''}`,
  holds: (value): value is readonly T[] =>
    Array.isArray(value) && value.length >= fewest && value.every((item) => rule.holds(item)),
});

export const texts = listOf('strings', text);

export const either = <A, B>(a: Rule<A>, b: Rule<B>): Rule<A | B> => ({
  must: `${a.must}, or ${b.must}`,
  holds: (value): value is A | B => a.holds(value) || b.holds(value),
});

/** Stands for every function type: no test can tell a function's argument types. */
export const callback: Rule<never> = {
  must: 'a function',
  holds: (value): value is never => typeof value === 'function',
};

/** Tested by properties: signals of other realms and of polyfills are not instances of this realm's class. */
export const signal: Rule<AbortSignal> = {
  must: 'an AbortSignal',
  holds: (value): value is AbortSignal =>
    isObject(value) && typeof value.aborted === 'boolean' && typeof value.addEventListener === 'function',
};

/** Any object except a list or null. Stands for every object type; its contents are checked elsewhere. */
export const object: Rule<never> = {
  must: 'an object',
  holds: (value): value is never => isObject(value) && !Array.isArray(value),
};

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
