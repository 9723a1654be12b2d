/** A part of an expression in Oniguruma's syntax. */
export interface Part {
  readonly kind:
    | 'comment'
    | 'flags' // (?i): to the end of the group
    | 'open'
    | 'close'
    | 'class' // [a-z]
    | 'property' // \p{L}
    | 'dot'
    | 'character' // a letter, also as \x{61}
    | 'quantifier'
    | 'space' // what the flag x ignores
    | 'other';
  readonly text: string;
  /** The character of a 'character'. */
  readonly character?: string | undefined;
}

const KINDS: readonly (readonly [Part['kind'], RegExp])[] = [
  ['comment', /\(\?#(?:\\.|[^\\)])*\)/suy],
  ['flags', /\(\?[imx-]+\)/uy],
  ['open', /\((?:\?(?:<[=!]|<[^>]*>|'[^']*'|[imx-]*:|[=!>~]))?/uy],
  ['close', /\)/uy],
  ['property', /\\[pP]\{[^}]*\}/uy],
  ['character', /\\x\{([0-9A-Fa-f]{1,8})\}|\\x([0-7][0-9A-Fa-f])|\\u([0-9A-Fa-f]{4})/uy],
  ['character', /\\([^\sA-Za-z0-9])/uy],
  ['other', /\\(?:[kg](?:<[^>]*>|'[^']*')|c.|C-.|M-(?:\\C-)?.|[0-9]+|.)|[|^$]/suy],
  ['dot', /\./uy],
  ['quantifier', /(?:[*+?]|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]+)\})[?+]?/uy],
];

/** The parts of an expression, in order; joined, they are the expression. */
export function* partsOf(source: string): Generator<Part, void> {
  const extended: boolean[] = [false]; // the flag x, per group
  for (let at = 0; at < source.length; ) {
    const part = partAt(source, at, extended.at(-1) === true);
    if (part.kind === 'open') extended.push(flag(part.text, 'x') ?? extended.at(-1) === true);
    if (part.kind === 'close' && extended.length > 1) extended.pop();
    if (part.kind === 'flags') extended.splice(-1, 1, flag(part.text, 'x') ?? extended.at(-1) === true);
    at += part.text.length;
    yield part;
  }
}

/** Whether a group switches a flag on or off: "(?i-x:". Undefined: neither. */
export function flag(group: string, name: 'i' | 'm' | 'x'): boolean | undefined {
  const [, on = '', off = ''] = /^\(\?([imx]*)(-[imx-]*)?[:)]/.exec(group) ?? [];
  return off.includes(name) ? false : on.includes(name) ? true : undefined;
}

function partAt(source: string, at: number, isExtended: boolean): Part {
  const space = isExtended ? /\s+|#[^\n]*/uy : undefined;
  if (space) {
    space.lastIndex = at;
    const [text] = space.exec(source) ?? [];
    if (text !== undefined) return { kind: 'space', text };
  }
  if (source[at] === '[') return { kind: 'class', text: source.slice(at, endOfClass(source, at)) };
  for (const [kind, pattern] of KINDS) {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match)
      return { kind, text: match[0], character: kind === 'character' ? characterOf(match) : undefined };
  }
  const character = String.fromCodePoint(source.codePointAt(at)!);
  return { kind: 'character', text: character, character };
}

function characterOf(match: RegExpExecArray): string | undefined {
  const [whole, ...digits] = match;
  if (!/^\\[xu]/.test(whole)) return match[1];
  const code = Number.parseInt(digits.find((some) => some !== undefined) ?? '0', 16);
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

/** The index after a class: "]" at its start is a letter, classes are nested. */
function endOfClass(source: string, start: number): number {
  const token = /\\(?:[pP]\{[^}]*\}|.)|\[:\^?[a-z]+:\]|\[\^?\]?|\]|[^\\[\]]+/gsy;
  token.lastIndex = start;
  let depth = 0;
  for (let match = token.exec(source); match; match = token.exec(source)) {
    if (match[0].startsWith('[:') && match[0].endsWith(':]')) continue;
    if (match[0].startsWith('[')) depth++;
    else if (match[0] === ']') depth--;
    if (depth === 0) return token.lastIndex;
  }
  return source.length; // the library reports it
}
