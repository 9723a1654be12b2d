import { TemplateFailure } from '../error.js';
import { characterCount, EMPTY, join, offsetOf, type Text } from '../text.js';
import type { Context } from '../value.js';

export interface WrapRules {
  readonly width: number;
  readonly breakWords: boolean;
  /** Words may be split after hyphens. */
  readonly hyphens: boolean;
}

/** Lines of at most `width` characters, as Python's textwrap makes them. */
export function wrapLine({ budget }: Context, line: Text, { width, breakWords, hyphens }: WrapRules): Text[] {
  if (width <= 0) throw new TemplateFailure(`a width of ${width} has no room for text`);
  const chunks = chunksOf(line, hyphens).reverse();
  budget.elements(line.length);
  const lines: Text[] = [];
  while (chunks.length > 0) {
    if (isBlank(chunks.at(-1)!) && lines.length > 0) chunks.pop();
    const taken: Text[] = [];
    let room = width;
    for (let next = chunks.at(-1); next && characterCount(next) <= room; next = chunks.at(-1)) {
      room -= characterCount(next);
      taken.push(chunks.pop()!);
    }
    const long = chunks.at(-1);
    budget.read(32 + (long?.length ?? 0));
    if (long && characterCount(long) > width) {
      chunks.pop();
      const cut = breakWords ? offsetOf(long, Math.max(1, room)) : taken.length === 0 ? long.length : 0;
      if (cut > 0) taken.push(long.slice(0, cut));
      if (cut < long.length) chunks.push(long.slice(cut));
    }
    if (taken.length > 0 && isBlank(taken.at(-1)!)) taken.pop();
    if (taken.length > 0) lines.push(join(taken));
  }
  return lines.length > 0 || line.length > 0 ? lines : [EMPTY];
}

const isBlank = (chunk: Text): boolean => chunk.value.trim() === '';

/** Words and the white space between them; with `hyphens`, words are split after hyphens before letters. */
function chunksOf(line: Text, hyphens: boolean): Text[] {
  const pattern = hyphens ? /\s+|[^\s-]*[\p{L}\d_]-(?=\p{L})|[^\s-]+-*|-+/gu : /\s+|\S+/g;
  return Array.from(line.value.matchAll(pattern), ({ 0: chunk, index }) =>
    line.slice(index, index + chunk.length),
  );
}
