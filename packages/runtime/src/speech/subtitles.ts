import { checkArgument, type Rule, rules } from '@quern/core';
import { badArgument } from '../error.js';
import type { Segment } from './options.js';

const segmentRule: Rule<Segment> = {
  must: 'a segment of a transcription',
  holds: (value): value is Segment =>
    rules.isObject(value) &&
    rules.finite.holds(value.start) &&
    rules.finite.holds(value.end) &&
    rules.text.holds(value.text),
};

const segmentList = rules.listOf('segments of a transcription', segmentRule);

/** 3723.5 → '01:02:03.500'. */
function clock(seconds: number, mark: string): string {
  const ms = Math.round(Math.max(0, seconds) * 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const rest = String(ms % 1000).padStart(3, '0');
  return `${two(Math.floor(ms / 3_600_000))}:${two(Math.floor(ms / 60_000) % 60)}:${two(Math.floor(ms / 1000) % 60)}${mark}${rest}`;
}

/** No blank lines, and no arrow, which would start a cue. */
const cueText = (text: string) =>
  text
    .trim()
    .replace(/\s*\n\s*/g, '\n')
    .replaceAll('-->', '->');

const srtText = ({ start, end, text }: Segment, number: number): string =>
  `${number}\n${clock(start, ',')} --> ${clock(end, ',')}\n${cueText(text)}\n`;

const vttText = ({ start, end, text }: Segment): string =>
  `${clock(start, '.')} --> ${clock(end, '.')}\n${cueText(text)}\n`;

/** A segment as a SubRip subtitle; the first has number 1. @throws RuntimeError BAD_ARGUMENT */
export function srtCue(segment: Segment, number: number): string {
  checkArgument('srtCue', 'segment', segment, segmentRule, badArgument);
  checkArgument('srtCue', 'number', number, rules.whole(0), badArgument);
  return srtText(segment, number);
}

/** A segment as a WebVTT subtitle. @throws RuntimeError BAD_ARGUMENT */
export function vttCue(segment: Segment): string {
  checkArgument('vttCue', 'segment', segment, segmentRule, badArgument);
  return vttText(segment);
}

/** Segments as SubRip subtitles. @throws RuntimeError BAD_ARGUMENT */
export function toSrt(segments: readonly Segment[]): string {
  checkArgument('toSrt', 'segments', segments, segmentList, badArgument);
  return segments.map((segment, i) => srtText(segment, i + 1)).join('\n');
}

/** Segments as WebVTT subtitles. @throws RuntimeError BAD_ARGUMENT */
export function toVtt(segments: readonly Segment[]): string {
  checkArgument('toVtt', 'segments', segments, segmentList, badArgument);
  return ['WEBVTT\n', ...segments.map(vttText)].join('\n');
}
