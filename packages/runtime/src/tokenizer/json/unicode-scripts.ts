import { SCRIPTS } from './scripts.js';

const expressions = SCRIPTS.map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const);
const known = new Map<string, string | undefined>();

/**
 * The script of a character. All Japanese scripts count as Han. Undefined for spaces and characters without a script:
 * they fit any.
 */
function scriptOf(character: string): string | undefined {
  if (!known.has(character)) known.set(character, findScript(character));
  return known.get(character);
}

function findScript(character: string): string | undefined {
  if (character === ' ') return undefined;
  if (character === '\u30fc') return 'Han';
  const name = expressions.find(([, expression]) => expression.test(character))?.[0];
  return name === 'Hiragana' || name === 'Katakana' ? 'Han' : name;
}

/** Splits where the script changes. Drops characters without a script at the start, as Hugging Face does. */
export function* scriptPieces(text: string): Generator<string, void> {
  let start = 0;
  let at = 0;
  let last: string | undefined;
  for (const character of text) {
    const script = scriptOf(character);
    if (script !== undefined && script !== last) {
      if (last !== undefined) yield text.slice(start, at);
      start = at;
    }
    last = script ?? last;
    at += character.length;
  }
  if (last !== undefined) yield text.slice(start);
}
