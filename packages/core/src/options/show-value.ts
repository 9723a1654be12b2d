const longest = 40;
const mostItems = 4;

const quoted = (text: string): string =>
  `'${text.length <= longest ? text : `${text.slice(0, longest)}…`}' (a string)`;

function showList(list: readonly unknown[]): string {
  const items = list.slice(0, mostItems).map(showValue);
  return `[${items.join(', ')}${list.length > mostItems ? `, … ${list.length} in all` : ''}]`;
}

function showObject(value: object): string {
  const { name } = (Object.getPrototypeOf(value)?.constructor ?? Object) as { readonly name?: unknown };
  if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object';
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`;
}

/** A value in messages, with its type if the type may be wrong. */
export function showValue(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return showList(value);
  return typeof value === 'object' && value !== null ? showObject(value) : String(value);
}
