import { QuernError } from '@quern/core';

/** Stable codes of errors about model files. */
export type FileErrorCode =
  | 'NOT_FOUND' // no such file, or a part of a split model is missing
  | 'NOT_A_FILE' // a directory, a socket
  | 'READ_FAILED' // the system could not read it
  | 'NOT_GGUF' // the file does not begin like GGUF
  | 'NOT_GGML' // the file does not begin like a whisper.cpp file
  | 'NOT_SAFETENSORS' // the file does not begin like safetensors
  | 'BIG_ENDIAN' // a big-endian GGUF file
  | 'UNSUPPORTED_VERSION' // a GGUF version other than 2 or 3
  | 'TRUNCATED' // the file is shorter than its header says
  | 'TOO_LARGE' // a header, name or count beyond the documented limits
  | 'BAD_HEADER' // metadata that contradicts itself or the format
  | 'BAD_TENSOR' // a tensor with an impossible name, shape, offset or size
  | 'UNKNOWN_FORMAT' // a tensor in a format that Quern does not read
  | 'CHANGED' // the file was written or replaced during reading
  | 'BAD_SPLIT' // the parts of a split model contradict each other
  | 'BAD_DATA' // when writing: the data does not fit the declared shape
  | 'WRITE_FAILED'; // the system could not write it

/** Thrown by readers and writers of model files. `path`: the file at fault. */
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

/** Stable codes of length errors of the block codecs. */
export type FormatErrorCode = 'BAD_LENGTH';

/** Thrown by `decode`, `encode` and `byteLength` if a length does not fit the format. */
export class FormatError extends QuernError<FormatErrorCode> {
  static override readonly className: string = 'FormatError';
}
