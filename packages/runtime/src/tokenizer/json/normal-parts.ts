import type { Divided } from '@quern/core';
import type { Fields } from './fields.js';
import type { Normalizer } from './normalizer.js';

/** A normaliser. `isLocal`: parts of a text may be normalised one by one (see `partsOf`). */
export interface Normalization {
  readonly normalize: Normalizer;
  readonly isLocal: boolean;
}

/** A text as it is. */
export const noNormalization: Normalization = { normalize: (text) => text, isLocal: true };

const local: ReadonlySet<string> = new Set([
  'BertNormalizer',
  'ByteLevel',
  'Lowercase',
  'NFC',
  'NFD',
  'NFKC',
  'NFKD',
  'Nmt',
  'Precompiled',
  'StripAccents',
]);

/** Whether a normaliser looks no further than a cluster of joining characters. */
export function isLocal(fields: Fields): boolean {
  if (fields.type === 'Sequence') return fields.objects('normalizers').every(isLocal);
  if (fields.type === 'Replace') return isOneCharacter(fields.object('pattern').json.String);
  return local.has(fields.type);
}

const isOneCharacter = (searched: unknown): boolean =>
  typeof searched === 'string' && [...searched].length === 1;

const CHARACTERS_OF_PART = 8192;

/**
 * Characters that join neither the one before nor the one after them: letters, numbers and what ASCII prints; not the letters of
 * Hangul that make syllables, halfwidth voicing marks, and the vowels of Thai and Lao that belong to the letter before.
 */
const alone =
  '(?![\\u1100-\\u11ff\\ua960-\\ua97f\\ud7b0-\\ud7ff\\uff9e\\uff9f\\u0e33\\u0eb3])[ -~\\p{L}\\p{N}]';
const between = new RegExp(`(?=${alone})(?<=(?=${alone}).)`, 'gsu');

/** Parts of some thousand characters; longer only where all characters may join. */
function* partsOf(text: string): Generator<string, void> {
  let start = 0;
  for (let end = CHARACTERS_OF_PART; end < text.length; end += CHARACTERS_OF_PART) {
    const cut = placeIn(text.slice(end - 2, end + CHARACTERS_OF_PART - 2));
    if (cut === undefined) continue;
    end += cut - 2;
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

/** The first place between two such characters, none of them the first, which may be half a character. */
function placeIn(window: string): number | undefined {
  between.lastIndex = 2;
  return between.exec(window)?.index;
}

/** Normalises part by part where the result is the same, else as a whole. */
export function* normalizeInParts({ normalize, isLocal }: Normalization, text: string): Divided<string> {
  if (!isLocal || text.length <= CHARACTERS_OF_PART) return normalize(text);
  const normal: string[] = [];
  for (const part of partsOf(text)) {
    normal.push(normalize(part));
    yield;
  }
  return normal.join('');
}
