/** An error of one line of a chat. */
export class ChatError extends Error {
  constructor(
    readonly code:
      | 'UNKNOWN_COMMAND'
      | 'NO_FILE'
      | 'FILE_EXISTS'
      | 'SAVE_FAILED'
      | 'LOAD_FAILED'
      | 'NO_CONVERSATION',
    message: string,
  ) {
    super(message);
  }
}

/** A line with a slash and an unknown command. */
export const unknownCommand = (command: string): ChatError =>
  new ChatError(
    'UNKNOWN_COMMAND',
    `there is no command ${command}: /help lists them, and /${command} sends it as a message`,
  );
