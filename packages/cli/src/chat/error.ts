/** A line with a slash and an unknown command. */
export class UnknownCommand extends Error {
  readonly code = 'UNKNOWN_COMMAND';

  constructor(command: string) {
    super(`there is no command ${command}: /help lists them, and /${command} sends it as a message`);
  }
}
