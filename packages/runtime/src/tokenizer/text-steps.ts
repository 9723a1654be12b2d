/** One decoding under way. */
export interface TextSteps {
  /** The text that `id` completes, perhaps none. */
  push(id: number): string;
  /** The end of the text. */
  flush(): string;
}
