/** White space of Python's strip() and split(), as a class of a regular expression. */
export const SPACE =
  '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';

const PATTERN = new RegExp(SPACE);

export const isSpace = (character: string): boolean => PATTERN.test(character);

/** Line ends of Python's splitlines(). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python counts these among the ends of lines
export const LINE_END = /\r\n|[\n-\r\x1c-\x1e\x85\u2028\u2029]/g;

/** Without trailing white space. A regular expression with `$` takes quadratic time on runs of spaces. */
export function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text[end - 1]!)) end--;
  return text.slice(0, end);
}
