/** Where to split a text: the matches of a pattern, or the ranges of a function, in order. */
export type Splitter = RegExp | ((text: string) => Iterable<readonly [start: number, end: number]>);

/** The pieces of `text` after all patterns, made on demand; joined, they give `text`. */
export function* splitText(text: string, patterns: readonly Splitter[], first = 0): Generator<string, void> {
  if (text === '') return;
  const pattern = patterns[first];
  if (!pattern) yield text;
  else if (first + 1 === patterns.length) yield* isolate(text, pattern);
  else for (const piece of isolate(text, pattern)) yield* splitText(piece, patterns, first + 1);
}

const isolate = (text: string, pattern: Splitter): Generator<string, void> =>
  pattern instanceof RegExp ? isolateMatches(text, pattern) : isolatePlaces(text, pattern(text));

/** The matches and the text between them. */
function* isolateMatches(text: string, pattern: RegExp): Generator<string, void> {
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) yield text.slice(end, match.index);
    if (match[0] !== '') yield match[0];
    end = match.index + match[0].length;
  }
  if (end < text.length) yield text.slice(end);
}

function* isolatePlaces(
  text: string,
  places: Iterable<readonly [start: number, end: number]>,
): Generator<string, void> {
  let end = 0;
  for (const [start, stop] of places) {
    if (start > end) yield text.slice(end, start);
    yield text.slice(start, stop);
    end = stop;
  }
  if (end < text.length) yield text.slice(end);
}

/** Trailing white space. A pattern would take quadratic time on runs of spaces. */
export const endingSpace: Splitter = (text) => {
  let start = text.length;
  while (start > 0 && /\p{White_Space}/u.test(text[start - 1]!)) start--;
  return start < text.length ? [[start, text.length]] : [];
};

/**
 * Groups of three digits, counted from the end of each number. A pattern would look ahead to the end from every third
 * digit.
 */
export const thousands = (numbers: RegExp): Splitter =>
  function* (text) {
    for (const { index, 0: number } of text.matchAll(numbers)) {
      const digits = [...number];
      let at = index;
      for (let i = 0; i < digits.length; ) {
        const count = (digits.length - i) % 3 || 3;
        const { length } = digits.slice(i, i + count).join('');
        yield [at, at + length];
        at += length;
        i += count;
      }
    }
  };
