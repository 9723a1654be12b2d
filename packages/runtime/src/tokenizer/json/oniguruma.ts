import { caseVariants, FOLDINGS, foldsToSeveral, simpleFold } from './case-folding.js';
import { compiled } from './compile-regex.js';
import { flag, type Part, partsOf } from './oniguruma-lexer.js';

// Where Oniguruma differs from what oniguruma-to-es 4.3 makes of an expression:
// - \w and \p{Word} contain ² ³ ¹ ¼ ½ ¾, except in a class; the library's \w contains all numbers.
// - Without regard to case, one character may equal several (ß and ss), \p{Lu} stays upper case, and a class has the
//   variants of its characters: [a&&[^A]] has A too.
// - "a(?i)b|c" is "a(?i:b|c)".

const WORD_IN_CLASS = '\\p{Alpha}\\p{M}\\p{Nd}\\p{Pc}';
/** Oniguruma's \w: of the numbers that are not digits, only those of Latin-1. */
const WORD = `${WORD_IN_CLASS}²³¹¼-¾`;

const WORDS: Readonly<Record<string, string>> = {
  '\\w': `[${WORD}]`,
  '\\W': `[^${WORD}]`,
  '\\b': `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`,
  '\\B': `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`,
};

/** Flags of a group. */
interface Group {
  readonly ignoresCase: boolean;
  readonly dotAll: boolean;
  /** Inside a lookbehind. */
  readonly behind: boolean;
  /** Ends with the group around it: what follows "(?i)". */
  readonly implied: boolean;
}

const outside: Group = { ignoresCase: false, dotAll: false, behind: false, implied: false };

/** An expression of Oniguruma as a JavaScript expression. @throws Error for what cannot be translated */
export function fromOniguruma(source: string): RegExp {
  return compiled(translated(source));
}

function translated(source: string): string {
  const groups: Group[] = [outside];
  let out = '';
  let run: Part[] = []; // letters in a row
  const parts = inlined([...partsOf(source)]);
  for (const [i, part] of parts.entries()) {
    const group = groups.at(-1)!;
    if (part.kind === 'character') {
      run.push(part);
      continue;
    }
    const last = part.kind === 'quantifier' ? run.pop() : undefined; // it repeats the last letter alone
    if (group.ignoresCase && !group.behind) needSeparate(run, parts.slice(i));
    out += lettersOf(run, group) + (last ? lettersOf([last], group) : '') + partOf(part, group);
    run = [];
    out += enter(part, groups);
  }
  return out + lettersOf(run, groups.at(-1)!) + ')'.repeat(groups.filter(({ implied }) => implied).length);
}

/** Enters or leaves a group. Returns the brackets that close implied groups. */
function enter({ kind, text }: Part, groups: Group[]): string {
  const group = groups.at(-1)!;
  if (kind === 'close') return leave(groups);
  if (kind !== 'open' && kind !== 'flags') return '';
  groups.push({
    ignoresCase: flag(text, 'i') ?? group.ignoresCase,
    dotAll: flag(text, 'm') ?? group.dotAll,
    behind: group.behind || /^\(\?<[=!]/.test(text),
    implied: kind === 'flags',
  });
  return '';
}

function leave(groups: Group[]): string {
  let closed = '';
  while (groups.at(-1)!.implied) {
    groups.pop();
    closed += ')';
  }
  if (groups.length > 1) groups.pop();
  return closed;
}

function partOf({ kind, text }: Part, group: Group): string {
  if (kind === 'class') return classOf(text, group);
  if (kind === 'dot') return group.dotAll ? '\\O' : text;
  if (kind === 'flags') return text.replace(')', ':');
  if (kind === 'property') return propertyOf(text, group);
  if (group.ignoresCase && /^\\[01][0-7]{2}$/.test(text))
    throw new Error(`${text} without regard to case is not supported: write the letter`);
  return WORDS[text] ?? text;
}

function propertyOf(text: string, { ignoresCase }: Group): string {
  const isWord = wordProperty(text);
  if (isWord !== undefined) return isWord ? `[${WORD}]` : `[^${WORD}]`;
  return ignoresCase ? `(?-i:${text})` : text;
}

/** Whether `\p{…}` is \w (true) or \W (false); undefined: another property. */
function wordProperty(text: string): boolean | undefined {
  const [, letter, not, name = ''] = /^\\(p|P)\{(\^?)(.*)\}$/s.exec(text) ?? [];
  if (name.replace(/[\s_-]/g, '').toLowerCase() !== 'word') return undefined;
  return (letter === 'P') === (not === '^');
}

function classOf(source: string, { ignoresCase }: Group): string {
  const own = source.replace(/\\(?:[pP]\{[^}]*\}|.)/gs, (part) => {
    if (/^\\(?:P\{any|p\{\^any)\}$/i.test(part))
      throw new Error(`${part} inside a class is not supported: it matches no character`);
    const isWord = part === '\\w' ? true : part === '\\W' ? false : wordProperty(part);
    return isWord === undefined ? part : isWord ? `[${WORD_IN_CLASS}]` : `[^${WORD_IN_CLASS}]`;
  });
  return ignoresCase ? withVariants(own) : own;
}

/** A class, and what differs from its characters in case alone. */
function withVariants(source: string): string {
  const isNegated = source.startsWith('[^');
  const own = isNegated ? `[${source.slice(2)}` : source;
  const test = compiled(`\\A${own}`);
  const holds = (character: string) => {
    test.lastIndex = 0;
    return test.test(character);
  };
  const more = caseVariants().flatMap((variants) => {
    const held = variants.filter(holds);
    return held.length === 0 || held.length === variants.length
      ? []
      : variants.filter((each) => !held.includes(each));
  });
  const all = more.length === 0 ? own : `[${own}${more.join('')}]`;
  if (isNegated) return `(?-i:[^${all}])`;
  const isFolded = (character: string) => holds(character) || more.includes(character);
  const several = [...FOLDINGS].filter(([, list]) => list.some(isFolded)).map(([folded]) => folded);
  return several.length === 0 ? `(?-i:${all})` : `(?:${[`(?-i:${all})`, ...several].join('|')})`;
}

/** Letters in a row. Without regard to case, some characters equal several, and the other way round. */
function lettersOf(run: readonly Part[], { ignoresCase, behind }: Group): string {
  if (!ignoresCase || behind) return run.map(({ text }) => text).join('');
  let out = '';
  for (let at = 0; at < run.length; ) {
    const folded = foldsToSeveral(run[at]!.character ?? '') ?? foldingAt(run, at);
    const length = folded !== undefined && foldingAt(run, at) === folded ? [...folded].length : 1;
    out += folded === undefined ? run[at]!.text : `(?:${[folded, ...FOLDINGS.get(folded)!].join('|')})`;
    at += length;
  }
  return out;
}

/** The longest folding that the letters from `at` on spell. */
function foldingAt(run: readonly Part[], at: number): string | undefined {
  for (const length of [3, 2]) {
    const letters = run.slice(at, at + length);
    if (letters.length < length || letters.some(({ character }) => foldsToSeveral(character ?? ''))) continue;
    const folded = letters.map(({ character }) => simpleFold(character ?? '')).join('');
    if (FOLDINGS.has(folded)) return folded;
  }
  return undefined;
}

/**
 * Oniguruma joins letters with those that start a group without alternatives. @throws Error where they fold together
 * @param rest the parts after `run`
 */
function needSeparate(run: readonly Part[], rest: readonly Part[]): void {
  if (run.length === 0 || rest[0]?.text !== '(?:' || hasAlternatives(rest)) return;
  const end = rest.findIndex(({ kind }, i) => i > 0 && kind !== 'character');
  const [before, inside] = [run.slice(-2), rest.slice(1, Math.min(end, 3))];
  const joined =
    lettersOf([...before, ...inside], FOLDING) !== lettersOf(before, FOLDING) + lettersOf(inside, FOLDING);
  const text = (parts: readonly Part[]) => parts.map((part) => part.text).join('');
  if (joined)
    throw new Error(
      `"${text(before)}(?:${text(inside)}" without regard to case is not supported: the letters fold together; write them without the group`,
    );
}

const FOLDING: Group = { ...outside, ignoresCase: true };

/** Whether the group that starts has "|" or is repeated. */
function hasAlternatives(parts: readonly Part[]): boolean {
  let depth = 0;
  for (const [i, { kind, text }] of parts.entries()) {
    if (kind === 'open') depth++;
    if (kind === 'close') depth--;
    if (depth === 1 && text === '|') return true;
    if (depth === 0) return parts[i + 1]?.kind === 'quantifier';
  }
  return false;
}

/** Without what changes nothing between and around letters: comments, "s(?:s)", "s{1}". */
function inlined(parts: readonly Part[]): readonly Part[] {
  const out: Part[] = [];
  for (const [i, part] of parts.entries()) {
    const last = out.at(-1)?.kind;
    if (last === 'character' && /^(?:comment|space)$/.test(part.kind)) continue;
    if ((last === 'character' || last === 'close') && /^\{1(?:,1)?\}$/.test(part.text)) continue;
    const opened = part.kind === 'close' ? lettersFrom(out) : undefined;
    const isRepeated = parts[i + 1]?.kind === 'quantifier' && !/^\{1(?:,1)?\}$/.test(parts[i + 1]!.text);
    if (opened === undefined || isRepeated) out.push(part);
    else out.splice(opened, 1);
  }
  return out;
}

/** The index of "(?:" before letters at the end; undefined: there is something else. */
function lettersFrom(parts: readonly Part[]): number | undefined {
  let at = parts.length - 1;
  while (parts[at]?.kind === 'character') at--;
  return parts[at]?.kind === 'open' && parts[at]?.text === '(?:' ? at : undefined;
}
