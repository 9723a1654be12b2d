import { Charsmap } from '../charsmap.js';
import type { Fields } from './fields.js';

/** Characters that may join a neighbour. A text without them has one character per cluster. */
const joining =
  /\u200d|[\p{M}\p{Emoji_Modifier}\p{Regional_Indicator}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\uff9e\uff9f\u0600-\u0605\u06dd\u070f\u0e33\u0eb3]|\r\n/u;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const REMEMBERED = 16384;

/**
 * SentencePiece's table of replacements, as in Hugging Face: a cluster of less than 6 bytes is replaced as a whole,
 * otherwise character by character. Of all matching prefixes, the shortest entry is used.
 */
export function precompiled(fields: Fields): (text: string) => string {
  const charsmap = new Charsmap(Buffer.from(fields.string('precompiled_charsmap'), 'base64'));
  const known = new Map<string, string>();
  const replace = (cluster: string): string => {
    const found = known.get(cluster);
    if (found !== undefined) return found;
    const replaced = replaceCluster(charsmap, cluster);
    if (known.size >= REMEMBERED) known.clear();
    known.set(cluster, replaced);
    return replaced;
  };
  return (text) => {
    let out = '';
    for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? [])
      for (const cluster of clustersOf(line)) out += replace(cluster);
    return out;
  };
}

function* clustersOf(line: string): Generator<string, void> {
  if (!joining.test(line)) yield* line;
  else for (const { segment } of graphemes.segment(line)) yield segment;
}

function replaceCluster(charsmap: Charsmap, cluster: string): string {
  const whole = Buffer.byteLength(cluster) < 6 ? charsmap.replacement(cluster) : undefined;
  if (whole !== undefined) return whole;
  return Array.from(cluster, (character) => charsmap.replacement(character) ?? character).join('');
}
