export interface RenderOptions {
  /** End with the start of the assistant's answer; default true. */
  addGenerationPrompt?: boolean | undefined;
  /** Descriptions of the tools the model may call, in the form of the OpenAI API. */
  tools?: readonly unknown[] | undefined;
  /** More variables for the template, such as `enable_thinking`. */
  extra?: Readonly<Record<string, unknown>> | undefined;
  /** What `strftime_now` tells; default: now. */
  now?: Date | undefined;
}
