import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of chat template errors. */
export type ChatTemplateErrorCode =
  | 'NO_TEMPLATE' // the model has no chat template, and none was chosen
  | 'UNKNOWN_BUILTIN' // no builtin template of that name
  | 'BAD_TEMPLATE' // the template does not parse
  | 'REFUSED' // the template itself refuses the messages (raise_exception)
  | 'BAD_ARGUMENT' // an argument of a wrong type
  | 'BAD_OPTION' // an option of a wrong type, or unknown
  | 'RENDER_FAILED'; // the template fails on the messages: a missing field, an unknown function

/** Thrown when a chat template is loaded, and when it renders. */
export class ChatTemplateError extends QuernError<ChatTemplateErrorCode> {
  override readonly name = 'ChatTemplateError';
}

/** Refuses an option. */
export const badOption: Refuse = (message) => new ChatTemplateError('BAD_OPTION', message);

/** Refuses any other argument. */
export const badArgument: Refuse = (message) => new ChatTemplateError('BAD_ARGUMENT', message);
