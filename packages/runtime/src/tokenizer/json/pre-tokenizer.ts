/** Splits a text into pieces; an empty one is none, and other work may come there. `first`: it is the beginning of what was to be encoded. */
export type Split = (text: string, first: boolean) => Iterable<string>;

/** How a text becomes words, and how the model spells each: apart, so that words can be remembered as they were written. */
export interface PreTokenizer {
  readonly split: Split;
  readonly spell?: (word: string) => string;
}
