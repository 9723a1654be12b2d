const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const CODE = /x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})/y;

/** The string literal that starts at `start`, with Python's escapes, and its end; undefined where it does not end. */
export function readString(
  source: string,
  start: number,
): { readonly value: string; readonly end: number } | undefined {
  const quote = source[start];
  let value = '';
  for (let at = start + 1; at < source.length; ) {
    const character = source[at]!;
    if (character === quote) return { value, end: at + 1 };
    if (character !== '\\') {
      value += character;
      at++;
      continue;
    }
    const escaped = readEscape(source, at + 1);
    value += escaped.value;
    at = escaped.end;
  }
  return undefined;
}

function readEscape(source: string, at: number): { readonly value: string; readonly end: number } {
  const simple = ESCAPES[source[at] ?? ''];
  if (simple !== undefined) return { value: simple, end: at + 1 };
  CODE.lastIndex = at;
  const code = CODE.exec(source);
  if (!code) return { value: '\\', end: at };
  const octal = code[4];
  const point = octal === undefined ? Number.parseInt(code[0].slice(1), 16) : Number.parseInt(octal, 8);
  const value = point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd';
  return { value, end: at + code[0].length };
}
