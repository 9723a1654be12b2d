import type { DecoderStep } from './decoder-step.js';

/** Removes `content` up to `start` times at the start and up to `stop` times at the end. */
export function stripped(token: string, content: string, start: number, stop: number): string {
  let first = 0;
  for (let i = 0; i < start && token.startsWith(content, first); i++) first += content.length;
  let last = token.length;
  for (let i = 0; i < stop && last - content.length >= first && token.endsWith(content, last); i++)
    last -= content.length;
  return token.slice(first, last);
}

/**
 * As `stripped`, for a token that arrives in pieces: a possible end is held back. `continues`: the token's start is
 * already past.
 */
export function stripFused(content: string, start: number, stop: number, continues: boolean): DecoderStep {
  let left = continues ? 0 : start;
  let held = '';
  return {
    push(piece) {
      held += piece;
      while (left > 0 && held.startsWith(content)) {
        held = held.slice(content.length);
        left--;
      }
      if (held === '' || (left > 0 && content.startsWith(held))) return [];
      left = 0;
      const safe = held.length - removableEnd(held, content, stop);
      const out = held.slice(0, safe);
      held = held.slice(safe);
      return out === '' ? [] : [out];
    },
    end: () => [stripped(held, content, 0, stop)],
  };
}

function removableEnd(text: string, content: string, stop: number): number {
  let last = text.length;
  for (let i = 0; i < stop && text.endsWith(content, last); i++) last -= content.length;
  return text.length - last;
}
