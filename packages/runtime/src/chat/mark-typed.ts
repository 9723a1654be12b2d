import type { Text } from '../jinja/index.js';
import type { Tokenizer } from '../tokenizer/index.js';

interface Spellings {
  /** Any control token's spelling; the longest where several begin at one place. */
  readonly pattern: RegExp;
  /** Length of the longest. */
  readonly longest: number;
}

const known = new WeakMap<Tokenizer, Spellings | undefined>();

/** Two noncharacters: Unicode keeps them for uses within a program. */
const [FIRST, LAST] = ['\ufdd0', '\ufdd1'];

/**
 * The text with a mark within each spelling of a control token that typed characters have a part in. The mark occurs
 * nowhere else: no end of it is its beginning, so none arises from it and what stands beside it.
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

/** FIRST, more often than in any run of them before a LAST, and LAST. */
function unusedMark(value: string): string {
  let most = 0;
  for (const [run] of value.matchAll(/\ufdd0+(?=\ufdd1)/g)) most = Math.max(most, run.length);
  return FIRST.repeat(most + 1) + LAST;
}

/** Where a spelling begins in typed text: after its first character. Where it reaches into typed text: where that begins. */
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

const escapeRegExp = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
