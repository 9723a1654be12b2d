/** A line break inside an entry, as the terminal shows it. */
export const lineBreak = '↵';

/** Asks the terminal to mark pasted text; and no longer. */
export const markPastes = { on: '\u001b[?2004h', off: '\u001b[?2004l' } as const;

const [start, end, altEnter] = ['\u001b[200~', '\u001b[201~', '\u001b\r'] as const;

/** Longer texts stand in the line as a short label: line editors are slow with long lines. */
const mostShown = 400;

/** What a terminal would take for keys. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the keys
const keys = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** The longest end of a text that may begin one of the marks. */
function partOf(text: string, marks: readonly string[]): string {
  for (let length = Math.min(text.length, start.length - 1); length > 0; length--) {
    const tail = text.slice(-length);
    if (marks.some((mark) => mark.length > length && mark.startsWith(tail))) return tail;
  }
  return '';
}

/**
 * What a terminal sends, with pasted lines as one line for a line editor: their breaks, and those of Alt+Enter, are
 * `lineBreak`. `expand` gives the text that was meant.
 */
export class PasteFilter {
  private pasted: string | undefined;
  private rest = '';
  private readonly long = new Map<string, string>();

  /** Takes a piece of the input, and gives what the line editor gets. */
  push(input: string): string {
    let text = this.rest + input;
    this.rest = '';
    let out = '';
    while (text !== '') [out, text] = this.step(out, text);
    return out;
  }

  /** Whether the end of the input is kept, because a mark may begin there. */
  get waits(): boolean {
    return this.rest !== '' && this.pasted === undefined;
  }

  /** The kept end, where nothing follows: a key. */
  flush(): string {
    const { rest } = this;
    this.rest = '';
    return rest;
  }

  /** The text of an edited line. */
  expand(line: string): string {
    let text = line;
    for (const [label, whole] of this.long) text = text.replaceAll(label, () => whole);
    return text.replaceAll(lineBreak, '\n');
  }

  /** Whether a line stands for itself: it has no label of this session. */
  isPlain(line: string): boolean {
    return ![...this.long.keys()].some((label) => line.includes(label));
  }

  private step(out: string, text: string): [out: string, text: string] {
    return this.pasted === undefined ? this.typed(out, text) : this.inPaste(out, text);
  }

  private typed(out: string, text: string): [string, string] {
    const at = text.indexOf(start);
    if (at >= 0) this.pasted = '';
    const before = at < 0 ? text : text.slice(0, at);
    if (at < 0) this.rest = partOf(before, [start, altEnter]);
    const whole = before.slice(0, before.length - this.rest.length);
    return [out + whole.replaceAll(altEnter, lineBreak), at < 0 ? '' : text.slice(at + start.length)];
  }

  private inPaste(out: string, text: string): [string, string] {
    const at = text.indexOf(end);
    if (at < 0) {
      this.rest = partOf(text, [end]);
      this.pasted += text.slice(0, text.length - this.rest.length);
      return [out, ''];
    }
    const shown = this.shown(this.pasted + text.slice(0, at));
    this.pasted = undefined;
    return [out + shown, text.slice(at + end.length)];
  }

  /** Pasted text as it stands in the line. */
  private shown(pasted: string): string {
    const text = pasted.replace(/\r\n?/g, '\n').replace(keys, '').replace(/\n$/, '');
    if (text.length <= mostShown && !text.includes('\t')) return text.replaceAll('\n', lineBreak);
    const lines = text.split('\n').length;
    const label = `[paste ${this.long.size + 1}: ${lines} line${lines === 1 ? '' : 's'}]`;
    this.long.set(label, text);
    return label;
  }
}
