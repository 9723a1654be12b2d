import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of chat template errors. */
export type ChatTemplateErrorCode =
  | 'NO_TEMPLATE' // the model has no chat template, and none was chosen
  | 'UNKNOWN_BUILTIN' // no builtin template of that name
  | 'BAD_TEMPLATE' // the template does not parse
  | 'REFUSED' // the template itself refuses the messages (raise_exception)
  | 'RENDER_FAILED' // the template fails on the messages: missing field, wrong type
  | 'LIMIT' // the template exceeds its budget of steps, text, memory or depth
  | 'UNSUPPORTED_CONTENT' // the template does not render content parts of this type
  | 'IGNORED' // the template does not render the system message or the tools
  | 'BAD_ARGUMENT' // an argument of a wrong type
  | 'BAD_OPTION'; // an option of a wrong type, or unknown

/** Thrown when a chat template is loaded or rendered. */
export class ChatTemplateError extends QuernError<ChatTemplateErrorCode> {
  static override readonly className: string = 'ChatTemplateError';
}

/** The error for a bad option. */
export const badOption: Refuse = (message) => new ChatTemplateError('BAD_OPTION', message);

/** The error for any other bad argument. */
export const badArgument: Refuse = (message) => new ChatTemplateError('BAD_ARGUMENT', message);
