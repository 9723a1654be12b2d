import type { Pattern } from './pattern.js';

/** Replaces every match by `content`. */
export function replacing(pattern: Pattern, content: string): (text: string) => string {
  return (text) => {
    let out = '';
    let end = 0;
    for (const [start, stop] of pattern(text)) {
      out += text.slice(end, start) + content;
      end = stop;
    }
    return end === 0 && out === '' ? text : out + text.slice(end);
  };
}
