import stringWidth from 'string-width';

/** Lines of code stay whole: their breaks have a meaning. */
const fence = /^\s*(```|~~~)/;

/** Breaks lines between words, for text that comes in pieces: words are not cut by the terminal's edge. */
export class WordWrap {
  /** The line as shown, and its last word so far. */
  private line = '';
  private word = '';
  private inCode = false;

  /** @param columns the terminal's width now; undefined: unknown, nothing is changed */
  constructor(private readonly columns: () => number | undefined) {}

  /**
   * What to write for a piece. A word that grows beyond the edge is erased there and written on the next line; a word
   * longer than a line is left to the terminal.
   */
  push(text: string): string {
    return (text.match(/\n|[^\S\n]|[^\s]+/gu) ?? []).map((part) => this.part(part)).join('');
  }

  private part(part: string): string {
    if (part === '\n') return this.newLine();
    if (/^\s$/u.test(part)) return this.add(part, '');
    return this.fits(part) ? this.add(part, this.word + part) : this.carry(part);
  }

  private fits(part: string): boolean {
    const width = (this.columns() ?? 0) - 1; // in the last column terminals differ
    const isLong = stringWidth(this.word + part) > width;
    const isFirst = this.line === this.word;
    return this.inCode || isLong || isFirst || stringWidth(this.line + part) <= width;
  }

  private add(part: string, word: string): string {
    this.line += part;
    this.word = word;
    return part;
  }

  /** Moves the word to the next line. */
  private carry(part: string): string {
    const shown = stringWidth(this.word);
    this.word += part;
    this.line = this.word;
    return shown > 0 ? `\u001b[${shown}D\u001b[K\n${this.word}` : `\n${this.word}`;
  }

  private newLine(): string {
    if (fence.test(this.line)) this.inCode = !this.inCode;
    this.line = '';
    this.word = '';
    return '\n';
  }
}
