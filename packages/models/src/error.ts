import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of errors about models. Readers of the files themselves throw FileError of @quern/quant. */
export type ModelErrorCode =
  | 'NOT_FOUND' // there is nothing at the path
  | 'NO_MODEL' // a folder without a model, or a model file without its config.json
  | 'AMBIGUOUS_MODEL' // a folder with several models: name one
  | 'UNKNOWN_ARCHITECTURE' // no registered architecture has that name
  | 'WRONG_KIND' // a language model, an encoder or a speech model where another kind is needed
  | 'DUPLICATE_ARCHITECTURE' // registering a name that is taken
  | 'BAD_CONFIG' // a value is missing, absurd, or contradicts another
  | 'UNSUPPORTED_CONFIG' // a sound value that asks for something Quern does not do
  | 'MISSING_WEIGHT' // the file lacks a tensor of the architecture
  | 'BAD_WEIGHT_SHAPE' // a tensor has another shape than the configuration implies
  | 'UNKNOWN_FORMAT' // a tensor in a format that Quern does not compute with
  | 'BAD_ARGUMENT' // any other argument out of its documented range
  | 'ABORTED' // an AbortSignal ended the loading
  | 'WORKER_FAILED'; // a thread that decodes weights ended by itself

/** Thrown by everything that opens, checks or loads a model. */
export class ModelError extends QuernError<ModelErrorCode> {
  static override readonly className: string = 'ModelError';
}

/** Refuses an argument or option. */
export const badArgument: Refuse = (message) => new ModelError('BAD_ARGUMENT', message);
