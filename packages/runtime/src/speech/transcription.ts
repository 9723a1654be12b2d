import { type Production, ReadOnce } from '../read-once.js';
import type { Segment, TranscriptionResult } from './options.js';

/**
 * A transcript, made while the caller reads: `for await (const segment of transcription)`, or `await
 * transcription.result` for the whole transcript. Readable once. Nothing runs before the first read. Leaving the loop
 * early frees everything. Errors reject both the loop and `result`: a `result` that nobody awaits, without a loop, is an
 * unhandled rejection, except for an abort and a disposed model.
 */
export class Transcription extends ReadOnce<Segment, TranscriptionResult> {
  constructor(begin: () => Production<Segment, TranscriptionResult>) {
    super(begin, nothing, 'a transcription can be read once: keep its segments, or transcribe again');
  }
}

/** The result of a transcription without a reader. */
const nothing: TranscriptionResult = {
  text: '',
  segments: [],
  language: '',
  duration: 0,
  cutPromptTokens: 0,
  stages: { audioMs: 0, melMs: 0, encodeMs: 0, decodeMs: 0, alignMs: 0, windows: 0, tokens: 0 },
};
