import { escapeRegExp } from '../escape-regexp.js';
import type { Text } from '../jinja/index.js';
import type { Tokenizer } from '../tokenizer/index.js';

interface Spellings {
  /** Matches any control token's spelling; the longest one where several start at the same place. */
  readonly pattern: RegExp;
  /** Length of the longest spelling. */
  readonly longest: number;
}

const known = new WeakMap<Tokenizer, Spellings | undefined>();

/** Two noncharacters: Unicode reserves them for internal use. */
const [FIRST, LAST] = ['\ufdd0', '\ufdd1'];

/**
 * The text with a mark inside each control token spelling that contains typed characters. The mark occurs nowhere else
 * in the text, also not across its borders: no suffix of the mark is a prefix of it.
 */
export function markTyped(
  text: Text,
  tokenizer: Tokenizer,
): { readonly text: string; readonly mark: string } {
  const mark = unusedMark(text.value);
  const places = text.typed.length === 0 ? [] : placesToMark(text, tokenizer);
  let marked = '';
  let end = 0;
  for (const place of places) {
    marked += text.value.slice(end, place) + mark;
    end = place;
  }
  return { text: marked + text.value.slice(end), mark };
}

/** FIRST repeated more often than in any run of FIRST before a LAST, then LAST. */
function unusedMark(value: string): string {
  let most = 0;
  for (const [run] of value.matchAll(/\ufdd0+(?=\ufdd1)/g)) most = Math.max(most, run.length);
  return FIRST.repeat(most + 1) + LAST;
}

/**
 * Positions of the marks. A spelling that starts in typed text: after its first character. A spelling that starts
 * before and reaches into typed text: at the start of the typed text.
 */
function placesToMark({ value, typed }: Text, tokenizer: Tokenizer): number[] {
  const spellings = spellingsOf(tokenizer);
  if (!spellings) return [];
  const { pattern, longest } = spellings;
  const places = new Set<number>();
  for (let i = 0; i < typed.length; i += 2) {
    const [start, end] = [typed[i]!, typed[i + 1]!];
    const reaches = value.slice(0, Math.min(value.length, end + longest));
    pattern.lastIndex = Math.max(0, start - longest + 1);
    for (let found = pattern.exec(reaches); found && found.index < end; found = pattern.exec(reaches)) {
      if (found.index >= start) places.add(found.index + firstLength(found[0]));
      else if (found.index + found[0].length > start) places.add(start);
      pattern.lastIndex = found.index + 1;
    }
  }
  return [...places].sort((a, b) => a - b);
}

const firstLength = (spelling: string): number => (spelling.codePointAt(0)! > 0xffff ? 2 : 1);

function spellingsOf(tokenizer: Tokenizer): Spellings | undefined {
  if (!known.has(tokenizer)) known.set(tokenizer, findSpellings(tokenizer));
  return known.get(tokenizer);
}

function findSpellings(tokenizer: Tokenizer): Spellings | undefined {
  const all: string[] = [];
  for (let id = 0; id < tokenizer.vocabSize; id++)
    if (tokenizer.isControl(id)) all.push(tokenizer.tokenText(id));
  const longestFirst = all.filter((spelling) => spelling.length > 1).sort((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return undefined;
  const pattern = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g');
  return { pattern, longest: longestFirst[0]!.length };
}
