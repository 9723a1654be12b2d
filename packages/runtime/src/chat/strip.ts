// The library's strip, lstrip and rstrip ignore their argument and always strip white space; Python's strip the
// characters of the argument. Qwen3's template relies on lstrip('\n') leaving an indented first line alone. So calls
// with an argument are rewritten in the parsed template, from text.lstrip(x) to the functions below.

type Strip = (text: unknown, characters: unknown) => string;

const strip =
  (atStart: boolean, atEnd: boolean): Strip =>
  (text, characters) => {
    if (typeof text !== 'string') throw new Error('strip() works on strings only');
    if (typeof characters !== 'string') throw new Error("strip()'s argument must be a string");
    const set = new Set(characters);
    const symbols = Array.from(text);
    let start = 0;
    let end = symbols.length;
    while (atStart && start < end && set.has(symbols[start]!)) start++;
    while (atEnd && end > start && set.has(symbols[end - 1]!)) end--;
    return symbols.slice(start, end).join('');
  };

/** By names that no template can write. */
export const STRIP_FUNCTIONS: Readonly<Record<string, Strip>> = {
  'str.strip': strip(true, true),
  'str.lstrip': strip(true, false),
  'str.rstrip': strip(false, true),
};

interface Call {
  callee: Member | Name;
  args: unknown[];
}

interface Member {
  type: 'MemberExpression';
  object: unknown;
  property: Name;
  computed: boolean;
}

interface Name {
  type: 'Identifier';
  value: string;
}

/** Rewrites the calls in place, everywhere in a parsed template. */
export function rewriteStrips(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  if (isStripCall(node)) rewriteCall(node, node.callee);
  const children = node instanceof Map ? [...node.keys(), ...node.values()] : Object.values(node);
  for (const child of children) rewriteStrips(child);
}

function rewriteCall(call: Call, member: Member): void {
  call.args.unshift(member.object);
  call.callee = { type: 'Identifier', value: `str.${member.property.value}` };
}

function isStripCall(node: object): node is Call & { callee: Member } {
  if (!('callee' in node && 'args' in node && Array.isArray(node.args) && node.args.length === 1))
    return false;
  const { callee } = node;
  return (
    isMember(callee) && !callee.computed && Object.hasOwn(STRIP_FUNCTIONS, `str.${callee.property.value}`)
  );
}

const isMember = (node: unknown): node is Member =>
  typeof node === 'object' && node !== null && 'type' in node && node.type === 'MemberExpression';
