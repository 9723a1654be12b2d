import { QuernError } from '@quern/core';

/** Stable codes of errors about model files. */
export type FileErrorCode =
  | 'NOT_FOUND' // no such file, or a part of a split model is missing
  | 'NOT_A_FILE' // a directory, a socket
  | 'READ_FAILED' // the system could not read it
  | 'NOT_GGUF' // the file does not begin as GGUF does
  | 'NOT_GGML' // the file does not begin as those of whisper.cpp do
  | 'NOT_SAFETENSORS' // the file does not begin as safetensors does
  | 'BIG_ENDIAN' // a GGUF file of a big-endian machine
  | 'UNSUPPORTED_VERSION' // a GGUF version other than 2 or 3
  | 'TRUNCATED' // the file ends before what its header promises
  | 'TOO_LARGE' // a header, name or count beyond the documented limits
  | 'BAD_HEADER' // metadata that contradicts itself or the format
  | 'BAD_TENSOR' // a tensor whose name, shape, offset or size is impossible
  | 'UNKNOWN_FORMAT' // a tensor in a format that Quern does not read
  | 'CHANGED' // it was written to or replaced while it was read
  | 'BAD_SPLIT' // the parts of a split model contradict each other
  | 'BAD_DATA' // while writing: the data given does not fit the shape declared
  | 'WRITE_FAILED'; // the system could not write it

/** Thrown by readers and writers of model files. `path` is the file at fault. */
export class FileError extends QuernError<FileErrorCode> {
  static override readonly className: string = 'FileError';

  constructor(
    code: FileErrorCode,
    readonly path: string,
    detail: string,
    options?: ErrorOptions,
  ) {
    super(code, `${path}: ${detail}`, options);
  }
}

/** Stable codes of errors about lengths handed to the block codecs. */
export type FormatErrorCode = 'BAD_LENGTH';

/** Thrown by `decode`, `encode` and `byteLength` where a length does not fit the format. */
export class FormatError extends QuernError<FormatErrorCode> {
  static override readonly className: string = 'FormatError';
}
