export interface RenderOptions {
  /** End the prompt with the start of the assistant's answer; default true. */
  addGenerationPrompt?: boolean | undefined;
  /** Tools that the model may call, in the format of the OpenAI API. */
  tools?: readonly unknown[] | undefined;
  /** More variables for the template, such as `enable_thinking`. */
  extra?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Further roles of messages. Known without: 'system', 'user', 'assistant', 'tool', and those that the template compares a
   * role with.
   */
  roles?: readonly string[] | undefined;
  /**
   * The start of the answer: the model continues it. Its spellings of control tokens stay text. Behind a template that
   * opens thoughts, they are closed first.
   */
  answerStart?: string | undefined;
  /** Receives notices of messages that the template does not take as they are. Default: a warning of the process, once. */
  onNotice?: ((text: string) => void) | undefined;
  /** The time for `strftime_now`; default: now. */
  now?: Date | undefined;
}
