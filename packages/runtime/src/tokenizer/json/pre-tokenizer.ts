/** Splits a text into pieces. An empty piece is a pause: other work may run there. `first`: the text begins the input of `encode`. */
export type Split = (text: string, first: boolean) => Iterable<string>;

/** Splits a text into words, then spells each word for the model. Two functions, so that a cache is keyed by the written word. */
export interface PreTokenizer {
  readonly split: Split;
  readonly spell?: (word: string) => string;
}
