/** White space of JSON. */
export const isSpace = (c: string | undefined): boolean =>
  c === '\n' || c === ' ' || c === '\t' || c === '\r';

/** Where the text begins that is no white space. */
function startOf(text: string): number {
  let start = 0;
  while (isSpace(text[start])) start++;
  return start;
}

function endOf(text: string): number {
  let end = text.length;
  while (isSpace(text[end - 1])) end--;
  return end;
}

/** Drops white space beside thoughts and calls: it belongs to their marks. Other white space stays. */
export class EdgeSpaces {
  /** White space that may stand before a mark. */
  private held = '';

  /** @param behind white space at the start of the text is dropped */
  constructor(private behind = false) {}

  /** The text that can be given out. */
  push(text: string): string {
    const rest = this.behind ? text.slice(startOf(text)) : text;
    if (rest === '') return '';
    this.behind = false;
    const end = endOf(rest);
    if (end === 0) {
      this.held += rest;
      return '';
    }
    const sure = this.held + rest.slice(0, end);
    this.held = rest.slice(end);
    return sure;
  }

  /** A mark follows. */
  mark(): void {
    this.held = '';
    this.behind = true;
  }

  /** The white space at the end of the text. */
  flush(): string {
    const { held } = this;
    this.held = '';
    return held;
  }
}
