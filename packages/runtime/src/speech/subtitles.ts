import type { Segment } from './options.js';

/** 3723.5 → '01:02:03.500'. */
function clock(seconds: number, mark: string): string {
  const ms = Math.round(Math.max(0, seconds) * 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const rest = String(ms % 1000).padStart(3, '0');
  return `${two(Math.floor(ms / 3_600_000))}:${two(Math.floor(ms / 60_000) % 60)}:${two(Math.floor(ms / 1000) % 60)}${mark}${rest}`;
}

/** No blank lines within, and no arrow, which would begin a cue. */
const cueText = (text: string) =>
  text
    .trim()
    .replace(/\s*\n\s*/g, '\n')
    .replaceAll('-->', '->');

/** A segment as a SubRip subtitle; the first has number 1. */
export const srtCue = ({ start, end, text }: Segment, number: number): string =>
  `${number}\n${clock(start, ',')} --> ${clock(end, ',')}\n${cueText(text)}\n`;

/** A segment as a WebVTT subtitle. */
export const vttCue = ({ start, end, text }: Segment): string =>
  `${clock(start, '.')} --> ${clock(end, '.')}\n${cueText(text)}\n`;

/** Segments as SubRip subtitles. */
export const toSrt = (segments: readonly Segment[]): string =>
  segments.map((segment, i) => srtCue(segment, i + 1)).join('\n');

/** Segments as WebVTT subtitles. */
export const toVtt = (segments: readonly Segment[]): string =>
  ['WEBVTT\n', ...segments.map(vttCue)].join('\n');
