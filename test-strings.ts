import fc from 'fast-check';

const [firstSurrogate, surrogates] = [0xd800, 0x800];

/** Throws for a text that is not one code point. */
function placeOf(text: unknown): number {
  const code = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1;
  if (code < 0 || text !== String.fromCodePoint(code) || code >> 11 === firstSurrogate >> 11)
    throw new RangeError(`${JSON.stringify(text)} is not one code point`);
  return code < firstSurrogate ? code : code - surrogates;
}

/**
 * All code points but surrogates: the strings of fast-check's unit 'binary'. That unit fills a table of 1.1 million strings in each suite
 * that uses it: 1 s of processor time and 100 MB.
 */
export const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - surrogates })
  .map((place) => String.fromCodePoint(place < firstSurrogate ? place : place + surrogates), placeOf);
