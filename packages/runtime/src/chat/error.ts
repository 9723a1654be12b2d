import { QuernError, type Refuse } from '@quern/core';

/** Stable codes of chat template errors. */
export type ChatTemplateErrorCode =
  | 'NO_TEMPLATE' // the model has no chat template, and none was chosen
  | 'UNKNOWN_BUILTIN' // no builtin template of that name
  | 'BAD_TEMPLATE' // the template does not parse
  | 'REFUSED' // the template itself refuses the messages (raise_exception)
  | 'RENDER_FAILED' // the template fails on the messages: a missing field, a value of the wrong type
  | 'LIMIT' // the template asks for more steps, text, memory or depth than a template may use
  | 'UNSUPPORTED_CONTENT' // content parts of a type that the template has no place for
  | 'IGNORED' // the template has no place for the system message or for the tools
  | 'BAD_ARGUMENT' // an argument of a wrong type
  | 'BAD_OPTION'; // an option of a wrong type, or unknown

/** Thrown when a chat template is loaded, and when it renders. */
export class ChatTemplateError extends QuernError<ChatTemplateErrorCode> {
  static override readonly className: string = 'ChatTemplateError';
}

/** Refuses an option. */
export const badOption: Refuse = (message) => new ChatTemplateError('BAD_OPTION', message);

/** Refuses any other argument. */
export const badArgument: Refuse = (message) => new ChatTemplateError('BAD_ARGUMENT', message);
