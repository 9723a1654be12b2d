const DIGITS = '0123456789';
const SMALL = 'abcdefghijklmnopqrstuvwxyz';
const MOST_NESTED = 3;

/** Ranges of a class in the right order. */
const ranges = [DIGITS, SMALL, SMALL.toUpperCase()]
  .flatMap((all) => [...all].map((low) => `${low}-[${low}-${all.at(-1)}]`))
  .join('|');
const ESCAPES =
  '\\\\(?:[dDsSwWtnrvf^$\\\\.*+?()[\\]{}|/]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|p\\{(?:L|Lu|Ll|N|P|S|Z)\\})';
const MEMBER = '[^\\\\\\][\\n\\r\\u2028\\u2029&~^-]';
const SET = `\\[\\^?(?:${ranges}|${MEMBER}|${ESCAPES}|\\\\-)*\\]`;
const CHARACTER = '[^\\\\^$.*+?()[\\]{}|\\n\\r\\u2028\\u2029]';

/** Bounds in the right order. */
function quantifier(): string {
  const pairs = [...DIGITS.slice(2)].map((least) => `${least},(?:[${least}-9]|[1-9]\\d{1,2})`);
  const bounds = ['\\d{1,3},?', '0,\\d{1,3}', '1,[1-9]\\d{0,2}', ...pairs];
  return `(?:[*+?]|\\{(?:${bounds.join('|')})\\})\\??`;
}

function alternatives(depth: number): string {
  const group = depth < MOST_NESTED ? `|\\((?:\\?:)?${alternatives(depth + 1)}\\)` : '';
  const atom = `(?:${CHARACTER}|\\.|${ESCAPES}|${SET}${group})`;
  return `(?:[|\\^$]|\\\\[bB]|${atom}(?:${quantifier()})?)*`;
}

/**
 * Regular expressions of ECMA-262 that every engine of it takes, with the flag u or without: groups nested up to three deep,
 * no lookaround, no references.
 */
export const regexPattern = (): string => alternatives(0);
