/**
 * Splits a text into pieces. An empty piece is a pause for other work. `first`: the text is the start of the input of
 * `encode`.
 */
export type Split = (text: string, first: boolean) => Iterable<string>;

/**
 * Splits a text into words, then spells each word for the model. Two functions, so that a cache can use the written
 * word as key.
 */
export interface PreTokenizer {
  readonly split: Split;
  readonly spell?: (word: string) => string;
}
