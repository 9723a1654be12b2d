/** The pieces of `text` after every pattern, made as they are asked for; joined they give `text` again. */
export function* splitText(text: string, patterns: readonly RegExp[], first = 0): Generator<string, void> {
  if (text === '') return;
  const pattern = patterns[first];
  if (!pattern) yield text;
  else if (first + 1 === patterns.length) yield* isolateMatches(text, pattern);
  else for (const piece of isolateMatches(text, pattern)) yield* splitText(piece, patterns, first + 1);
}

/** The matches, and what lies between them. */
function* isolateMatches(text: string, pattern: RegExp): Generator<string, void> {
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) yield text.slice(end, match.index);
    if (match[0] !== '') yield match[0];
    end = match.index + match[0].length;
  }
  if (end < text.length) yield text.slice(end);
}
