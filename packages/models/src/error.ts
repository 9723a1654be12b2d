import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of model errors. The file readers throw FileError of @quern/quant. */
export type ModelErrorCode =
  | 'NOT_FOUND' // nothing at the path
  | 'NO_MODEL' // a folder without a model, or a model file without its config.json
  | 'AMBIGUOUS_MODEL' // a folder with several models: name one
  | 'UNKNOWN_ARCHITECTURE' // no registered architecture has that name
  | 'WRONG_KIND' // a language model, an encoder or a speech model instead of another kind
  | 'DUPLICATE_ARCHITECTURE' // a file's architecture that two packages bring
  | 'BAD_ARCHITECTURE' // an architecture from outside breaks the rules of docs/writing-a-model.md
  | 'BAD_CONFIG' // a value is missing, absurd, or contradicts another
  | 'UNSUPPORTED_CONFIG' // a valid value that Quern does not support
  | 'MISSING_WEIGHT' // the file lacks a tensor of the architecture
  | 'BAD_WEIGHT_SHAPE' // a tensor's shape differs from the configuration's
  | 'UNKNOWN_FORMAT' // a tensor format that Quern cannot compute with
  | 'BAD_ADAPTER' // an adapter's tensors are no low-rank pairs, or belong to another model
  | 'BAD_ARGUMENT' // any other argument out of its documented range
  | 'ABORTED' // an AbortSignal stopped loading
  | 'WORKER_FAILED'; // a decoding thread stopped unexpectedly

/** Thrown when opening, checking or loading a model fails. */
export class ModelError extends QuernError<ModelErrorCode> {
  static override readonly className: string = 'ModelError';
}

/** BAD_ARGUMENT for an argument or option. */
export const badArgument: Refuse = (message) => new ModelError('BAD_ARGUMENT', message);
