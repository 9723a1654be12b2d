import { QuernError } from '@quern/core';

/** Stable codes of errors about sound. */
export type AudioErrorCode =
  | 'NOT_FOUND' // there is no such file
  | 'READ_FAILED' // the system could not read it
  | 'TOO_LARGE' // more than one buffer can hold
  | 'NOT_AUDIO' // it begins like no kind of audio file that is known
  | 'TRUNCATED' // the file ends before what its header promises
  | 'BAD_HEADER' // a header that contradicts itself
  | 'UNSUPPORTED' // a sound file in a coding that is not read
  | 'DECODER_MISSING' // the optional package that decodes this kind is not installed
  | 'DECODER_FAILED' // that package is installed, but does not load, or its thread was lost
  | 'DECODE_FAILED' // the decoder found the data broken
  | 'EMPTY' // a sound file without a sample
  | 'BAD_SAMPLES'; // what the caller gave is no sound: neither a file nor samples

/** Thrown by whatever reads sound. The message begins with where it came from. */
export class AudioError extends QuernError<AudioErrorCode> {
  static override readonly className: string = 'AudioError';
}
