/**
 * A number of JSON whose digits neither a number nor a bigint keeps: 1e400, 0.12345678901234567890, 1.0.
 * `JSON.stringify` writes its text where the engine knows `JSON.rawJSON` (Node 22), and else the nearest float64.
 */
export class JsonNumber {
  /** @param text as RFC 8259 writes numbers */
  constructor(readonly text: string) {}

  /** The nearest float64. */
  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  toJSON(): unknown {
    const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
    return rawJSON ? rawJSON(this.text) : this.valueOf();
  }
}

/** A number of which no digit is lost. */
export type ExactNumber = number | bigint | JsonNumber;

/** Making a bigint takes more than linear time: longer ones stay text. Python's bound. */
const MOST_DIGITS = 4300;

/**
 * The value of a number's text, with all digits: a number where `String` writes it as `text` has it; else a bigint for
 * integers of up to 4300 digits, else a `JsonNumber`.
 */
export function exactNumber(text: string): ExactNumber {
  const value = Number(text);
  if (String(value) === text) return value;
  const isWhole = /^-?[1-9]\d*$/.test(text) && text.length <= MOST_DIGITS;
  return isWhole ? BigInt(text) : new JsonNumber(text);
}
