import { QuernError } from '@quern/core';

/** Stable codes of audio errors. */
export type AudioErrorCode =
  | 'NOT_FOUND' // no such file
  | 'READ_FAILED' // the system could not read the file
  | 'TOO_LARGE' // larger than one buffer
  | 'NOT_AUDIO' // no known kind of audio file starts like this
  | 'TRUNCATED' // the file is shorter than its header says
  | 'BAD_HEADER' // the header contradicts itself
  | 'UNSUPPORTED' // an audio file with an unsupported coding
  | 'DECODER_MISSING' // the optional decoder package is not installed
  | 'DECODER_FAILED' // the decoder package does not load, or its thread was lost
  | 'DECODE_FAILED' // the decoder found broken data
  | 'EMPTY' // an audio file without samples
  | 'BAD_SAMPLES'; // the caller's input is neither a file nor samples

/** Thrown by readers of audio. The message starts with the source of the audio. */
export class AudioError extends QuernError<AudioErrorCode> {
  static override readonly className: string = 'AudioError';
}
