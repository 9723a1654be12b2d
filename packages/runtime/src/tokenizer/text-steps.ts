/** A running decoding. */
export interface TextSteps {
  /** The text completed by `id`; may be empty. */
  push(id: number): string;
  /** Ends the text; returns the rest. */
  flush(): string;
}
