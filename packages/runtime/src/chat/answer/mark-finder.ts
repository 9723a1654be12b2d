import { escapeRegExp } from '../../escape-regexp.js';

/** Finds marks in a text that arrives in chunks. */
class MarkFinder {
  private readonly pattern: RegExp;
  private readonly longest: number;

  constructor(private readonly marks: readonly string[]) {
    this.pattern = new RegExp(marks.map(escapeRegExp).join('|'), 'g');
    this.longest = Math.max(...marks.map(({ length }) => length));
  }

  /** The first mark from `at` on. Without one, `start` is where a mark may begin whose end is still to come. */
  find(text: string, at: number): { readonly start: number; readonly mark?: string } {
    this.pattern.lastIndex = at;
    const found = this.pattern.exec(text);
    return found ? { start: found.index, mark: found[0] } : { start: this.possibleStart(text, at) };
  }

  private possibleStart(text: string, at: number): number {
    for (let start = Math.max(at, text.length - this.longest + 1); start < text.length; start++)
      if (this.marks.some((mark) => mark.startsWith(text.slice(start)))) return start;
    return text.length;
  }
}

/** Text up to a mark. */
export interface UpToMark {
  /** Text that is surely before the mark, and has not been given before. */
  readonly before: string;
  readonly mark?: string;
  /** Where the rest of the chunk begins; its length without a mark. */
  readonly end: number;
}

/** Reads chunks up to a mark, also where the mark lies across chunks. */
export class MarkReader {
  /** The end of the last chunk that may begin a mark. */
  held = '';
  private readonly finder: MarkFinder;

  constructor(marks: readonly string[]) {
    this.finder = new MarkFinder(marks);
  }

  read(chunk: string, from: number): UpToMark {
    const isWhole = this.held === '';
    const text = isWhole ? chunk : this.held + chunk.slice(from);
    const at = isWhole ? from : 0;
    const { start, mark } = this.finder.find(text, at);
    this.held = mark === undefined ? text.slice(start) : '';
    const before = text.slice(at, start);
    if (mark === undefined) return { before, end: chunk.length };
    return { before, mark, end: chunk.length - (text.length - start - mark.length) };
  }
}
