/** What happens to a match: removed, a piece of its own, or joined to the piece before or after it. */
export const behaviors = [
  'Removed',
  'Isolated',
  'MergedWithPrevious',
  'MergedWithNext',
  'Contiguous',
] as const;
export type Behavior = (typeof behaviors)[number];

/** A match of a pattern, or the text between two matches. */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly isMatch: boolean;
}

/** The matches and the text between them. */
export function* segmentsOf(
  text: string,
  matches: Iterable<readonly [start: number, end: number]>,
  invert = false,
): Generator<Segment, void> {
  let end = 0;
  for (const [start, stop] of matches) {
    if (start > end) yield { start: end, end: start, isMatch: invert };
    yield { start, end: stop, isMatch: !invert };
    end = stop;
  }
  if (end < text.length) yield { start: end, end: text.length, isMatch: invert };
}

/** A removed match longer than this gives a pause. */
const long = 1024;

/** The pieces of a text. An empty piece is a pause for other work. */
export function* piecesOf(
  text: string,
  segments: Iterable<Segment>,
  behavior: Behavior,
): Generator<string, void> {
  let piece: Segment | undefined;
  let previous: Segment | undefined;
  for (const segment of segments) {
    if (behavior === 'Removed' && segment.isMatch) {
      if (segment.end - segment.start >= long) yield '';
      continue;
    }
    if (piece && previous && joins[behavior](previous, segment)) piece = { ...piece, end: segment.end };
    else {
      if (piece && piece.end > piece.start) yield text.slice(piece.start, piece.end);
      piece = segment;
    }
    previous = segment;
  }
  if (piece && piece.end > piece.start) yield text.slice(piece.start, piece.end);
}

/** Whether a segment joins the piece of the previous segment. */
const joins: Record<Behavior, (previous: Segment, segment: Segment) => boolean> = {
  Removed: () => false,
  Isolated: () => false,
  MergedWithPrevious: (previous, segment) => segment.isMatch && !previous.isMatch,
  MergedWithNext: (previous, segment) => previous.isMatch && !segment.isMatch,
  Contiguous: (previous, segment) => previous.isMatch === segment.isMatch,
};
