/** The tokens between two timestamps, in seconds from the start of the window. */
export interface CutSegment {
  readonly start: number;
  readonly end: number;
  readonly tokens: readonly number[];
}

/** Seconds between two consecutive timestamps. */
export const secondsPerTimestamp = 0.02;

/**
 * Cuts a window's tokens at pairs of timestamps. Where the text ends inside a segment, the next window starts with that
 * segment. Where it ends with a single timestamp, or has no pairs, the next window starts after this one.
 * @param length of the window, in seconds
 * @returns the segments, and the distance to the next window in seconds
 */
export function cutSegments(
  tokens: readonly number[],
  firstTimestamp: number,
  length: number,
): { segments: CutSegment[]; advance: number } {
  const isTimestamp = (id: number | undefined) => id !== undefined && id >= firstTimestamp;
  const seconds = (id: number) => (id - firstTimestamp) * secondsPerTimestamp;
  const cuts = [...tokens.keys()].filter(
    (i) => i > 0 && isTimestamp(tokens[i]) && isTimestamp(tokens[i - 1]),
  );
  if (cuts.length === 0) {
    const last = tokens.findLast(isTimestamp);
    const end = last !== undefined && last > firstTimestamp ? seconds(last) : length;
    return { segments: [{ start: 0, end: Math.min(end, length), tokens }], advance: length };
  }
  const endsAlone = isTimestamp(tokens.at(-1)) && !isTimestamp(tokens.at(-2));
  if (endsAlone) cuts.push(tokens.length);
  const segments = cuts.map((end, i) => {
    const piece = tokens.slice(cuts[i - 1] ?? 0, end);
    return { start: seconds(piece[0]!), end: seconds(piece.at(-1)!), tokens: piece };
  });
  const lastEnd = segments.at(-1)!.end;
  return { segments, advance: endsAlone || lastEnd <= 0 ? length : Math.min(lastEnd, length) };
}
