import { madeText } from './define.js';
import { TemplateFailure } from './error.js';
import { characterCount, characters, EMPTY, join, type Text, TextBuilder } from './text.js';
import type { Context } from './value.js';
import { text } from './value.js';
import { isSpace, LINE_END } from './white-space.js';

/** Removes characters at the ends: white space, or the characters of `set`. */
export function strip(
  context: Context,
  input: Text,
  set: Text | undefined,
  atStart: boolean,
  atEnd: boolean,
): Text {
  context.budget.read(input.length);
  const { value } = input;
  const chosen = set && new Set(set.value);
  const goes = (character: string) => (chosen ? chosen.has(character) : isSpace(character));
  let start = 0;
  let end = value.length;
  while (atStart && start < end) {
    const character = String.fromCodePoint(value.codePointAt(start)!);
    if (!goes(character)) break;
    start += character.length;
  }
  while (atEnd && end > start) {
    const character = lastCharacter(value, end);
    if (!goes(character)) break;
    end -= character.length;
  }
  return madeText(context, input.slice(start, Math.max(start, end)));
}

function lastCharacter(value: string, end: number): string {
  const pair = value.slice(Math.max(0, end - 2), end);
  return pair.length === 2 && pair.codePointAt(0)! > 0xffff ? pair : value.slice(end - 1, end);
}

/** Parts between `separator`, with at most `most` splits, from the start. */
export function split({ budget }: Context, input: Text, separator: Text, most: number): Text[] {
  if (separator.length === 0) throw new TemplateFailure('empty separator');
  budget.read(input.length);
  const parts: Text[] = [];
  let start = 0;
  for (let at = input.value.indexOf(separator.value); at >= 0 && parts.length < most; ) {
    parts.push(input.slice(start, at));
    start = at + separator.length;
    at = input.value.indexOf(separator.value, start);
    budget.elements(1);
  }
  parts.push(input.slice(start));
  return parts;
}

/** As `split`, from the end. */
export function splitFromEnd(context: Context, input: Text, separator: Text, most: number): Text[] {
  if (separator.length === 0) throw new TemplateFailure('empty separator');
  context.budget.read(input.length);
  const parts: Text[] = [];
  let end = input.length;
  while (parts.length < most && end >= separator.length) {
    const at = input.value.lastIndexOf(separator.value, end - separator.length);
    if (at < 0) break;
    parts.push(input.slice(at + separator.length, end));
    end = at;
    context.budget.elements(1);
  }
  parts.push(input.slice(0, end));
  return parts.reverse();
}

/** Words: parts between runs of white space, with at most `most` splits. The rest stays unchanged. */
export function words({ budget }: Context, input: Text, most: number): Text[] {
  budget.read(input.length);
  const { value } = input;
  const parts: Text[] = [];
  for (let at = 0; ; ) {
    while (at < value.length && isSpace(value[at]!)) at++;
    if (at >= value.length) return parts;
    const start = at;
    if (parts.length === most) {
      let end = value.length;
      while (isSpace(value[end - 1]!)) end--;
      return [...parts, input.slice(start, end)];
    }
    while (at < value.length && !isSpace(value[at]!)) at++;
    parts.push(input.slice(start, at));
    budget.elements(1);
  }
}

/** As `words`, from the end. */
export function wordsFromEnd({ budget }: Context, input: Text, most: number): Text[] {
  budget.read(input.length);
  const { value } = input;
  const parts: Text[] = [];
  for (let at = value.length; ; ) {
    while (at > 0 && isSpace(value[at - 1]!)) at--;
    if (at === 0) return parts.reverse();
    const end = at;
    if (parts.length === most) {
      let start = 0;
      while (isSpace(value[start]!)) start++;
      return [...parts, input.slice(start, end)].reverse();
    }
    while (at > 0 && !isSpace(value[at - 1]!)) at--;
    parts.push(input.slice(at, end));
    budget.elements(1);
  }
}

/** Lines, with or without line ends. */
export function lines({ budget }: Context, input: Text, keepEnds: boolean): Text[] {
  budget.read(input.length);
  const parts: Text[] = [];
  let start = 0;
  for (const { 0: ending, index } of input.value.matchAll(LINE_END)) {
    const end = index + ending.length;
    parts.push(input.slice(start, keepEnds ? end : index));
    start = end;
  }
  if (start < input.length) parts.push(input.slice(start));
  budget.elements(parts.length);
  return parts;
}

/** Replaces `old` by `replacement`, at most `most` times. An empty `old` matches between all characters. */
export function replace(context: Context, input: Text, old: Text, replacement: Text, most: number): Text {
  const parts = old.length === 0 ? gaps(context, input, most) : split(context, input, old, most);
  context.budget.characters(input.length + (parts.length - 1) * replacement.length);
  return parts.length === 1 ? input : join(parts, replacement);
}

function gaps({ budget }: Context, input: Text, most: number): Text[] {
  budget.elements(input.length);
  const parts: Text[] = [EMPTY, ...characters(input), EMPTY];
  if (parts.length - 1 <= most) return parts;
  return [...parts.slice(0, most), join(parts.slice(most))];
}

export function repeat({ budget }: Context, input: Text, count: number): Text {
  const times = Math.max(0, count);
  budget.characters(input.length * times);
  if (input.typed.length === 0) return text(input.value.repeat(times));
  budget.elements(times);
  const out = new TextBuilder();
  for (let i = 0; i < times; i++) out.add(input);
  return out.text();
}

/** Pads to `width` characters with `fill`; `share(missing)` of the fill goes before. */
export function pad(
  context: Context,
  input: Text,
  width: number,
  fill: Text,
  share: (missing: number) => number,
): Text {
  if (characterCount(fill) !== 1) throw new TemplateFailure('the fill must be one character');
  const missing = Math.max(0, width - characterCount(input));
  const before = share(missing);
  return join([repeat(context, fill, before), input, repeat(context, fill, missing - before)]);
}

/** The share of Python's str.center. */
export const centred =
  (width: number) =>
  (missing: number): number =>
    Math.floor(missing / 2) + (missing & width & 1);

/** The first character of `input` in upper case, the others in lower case. */
export function capitalize(context: Context, input: Text): Text {
  context.budget.read(input.length);
  const first = characters(input.slice(0, 2))[0] ?? EMPTY;
  const rest = input.slice(first.length).map((run) => run.toLowerCase());
  return madeText(context, join([first.map((run) => run.toUpperCase()), rest]));
}

/** Every word capitalised. A word is a run of characters with `isWord`. */
export function titled(context: Context, input: Text, isWord: (character: string) => boolean): Text {
  context.budget.elements(input.length);
  let inWord = false;
  const parts = characters(input).map((character) => {
    const letter = isWord(character.value);
    const change = letter && inWord ? 'toLowerCase' : 'toUpperCase';
    inWord = letter;
    return character.map((run) => run[change]());
  });
  return madeText(context, join(parts));
}

export const lower = (context: Context, input: Text): Text =>
  madeText(
    context,
    input.map((run) => run.toLowerCase()),
  );

export const upper = (context: Context, input: Text): Text =>
  madeText(
    context,
    input.map((run) => run.toUpperCase()),
  );

/** Joins strings of any origin. */
export function joinTexts(context: Context, parts: readonly Text[], separator: Text): Text {
  const made = parts.reduce((sum, part) => sum + part.length + separator.length, 0);
  context.budget.characters(made);
  context.budget.step(parts.length);
  return join(parts, separator);
}
