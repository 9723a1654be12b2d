import type { Cooperative } from '@quern/core';
import type { Fields } from './fields.js';
import type { Normalizer } from './normalizer.js';

/** A normaliser. `isLocal`: parts of a text may be normalised separately (see `partsOf`). */
export interface Normalization {
  readonly normalize: Normalizer;
  readonly isLocal: boolean;
}

/** The identity. */
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

/** Whether a normaliser only looks at one cluster of joining characters at a time. */
export function isLocal(fields: Fields): boolean {
  if (fields.type === 'Sequence') return fields.objects('normalizers').every(isLocal);
  if (fields.type === 'Replace') return isOneCharacter(fields.object('pattern').json.String);
  return local.has(fields.type);
}

const isOneCharacter = (searched: unknown): boolean =>
  typeof searched === 'string' && [...searched].length === 1;

const CHARACTERS_OF_PART = 8192;

/**
 * Characters that join neither their predecessor nor their successor: letters, numbers and printable ASCII. Excludes
 * Hangul letters that compose syllables, halfwidth voicing marks, and the Thai and Lao vowels that join the preceding
 * letter.
 */
const alone =
  '(?![\\u1100-\\u11ff\\ua960-\\ua97f\\ud7b0-\\ud7ff\\uff9e\\uff9f\\u0e33\\u0eb3])[ -~\\p{L}\\p{N}]';
const between = new RegExp(`(?=${alone})(?<=(?=${alone}).)`, 'gsu');

/** Parts of about `CHARACTERS_OF_PART` characters; longer only where all characters may join. */
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

/** The first position between two such characters, from index 2 on: the first unit may be half a character. */
function placeIn(window: string): number | undefined {
  between.lastIndex = 2;
  return between.exec(window)?.index;
}

/** Normalises in parts where the result is the same, else as a whole. */
export function* normalizeInParts({ normalize, isLocal }: Normalization, text: string): Cooperative<string> {
  if (!isLocal || text.length <= CHARACTERS_OF_PART) return normalize(text);
  const normal: string[] = [];
  for (const part of partsOf(text)) {
    normal.push(normalize(part));
    yield;
  }
  return normal.join('');
}
