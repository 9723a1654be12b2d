/** What ends a parameter: its own mark, another parameter, the end of the call, or another call. */
export type ParameterEnd =
  | { readonly type: 'parameter' | 'call' }
  | { readonly type: 'next parameter'; readonly name: string }
  | { readonly type: 'next call'; readonly mark: string };

export interface UpToEnd {
  /** Text that is surely the parameter's, and has not been given before. */
  readonly before: string;
  readonly found?: ParameterEnd;
  /** Where the rest of the chunk begins; its length without an end. */
  readonly end: number;
}

const FUNCTION_END = '</function>';
/** What may stand behind `</function>`: elsewhere it is text. */
const behindFunction = ['</tool_call>', '<tool_call>', '<function='];
const ends =
  /<\/parameter>|<\/tool_call>|<parameter=([^<>\n]{1,256})>|<\/function>\s{0,16}(<\/tool_call>|<tool_call>|<function=)/g;
const longest = '<parameter='.length + 257;

/** Whether a text may go on to be one of `ends`. */
function mayBegin(text: string): boolean {
  if (['</parameter>', '</tool_call>', '<parameter=', FUNCTION_END].some((mark) => mark.startsWith(text)))
    return true;
  if (text.startsWith('<parameter=')) return /^[^<>\n]{0,256}$/.test(text.slice('<parameter='.length));
  if (!text.startsWith(FUNCTION_END)) return false;
  const rest = text.slice(FUNCTION_END.length).replace(/^\s{0,16}/, '');
  return behindFunction.some((mark) => mark.startsWith(rest));
}

/**
 * Finds the end of a parameter's text, which arrives in chunks. A missing `</parameter>` is found where another
 * parameter of the tool begins, or where `</function>` stands before what follows a call.
 */
export class ParameterText {
  private held = '';

  /** @param isNext whether `<parameter=name>` may be another parameter of the call; otherwise it is text */
  constructor(private readonly isNext: (name: string) => boolean) {}

  /** The answer ends behind `</function>`. */
  get isFunctionEnd(): boolean {
    return this.held.trimEnd() === FUNCTION_END;
  }

  read(chunk: string, from: number): UpToEnd {
    if (this.held === '' && !chunk.includes('<', from))
      return { before: chunk.slice(from), end: chunk.length };
    const text = this.held + chunk.slice(from);
    const found = this.find(text);
    const start = found?.start ?? possibleStart(text);
    this.held = found ? '' : text.slice(start);
    const before = text.slice(0, start);
    if (!found) return { before, end: chunk.length };
    return { before, found: found.end, end: chunk.length - (text.length - start - found.length) };
  }

  private find(
    text: string,
  ): { readonly start: number; readonly length: number; readonly end: ParameterEnd } | undefined {
    for (const match of text.matchAll(ends)) {
      const [{ length }, name, mark] = match;
      if (name === undefined || this.isNext(name))
        return { start: match.index, length, end: endOf(match[0], name, mark) };
    }
    return undefined;
  }
}

function endOf(text: string, name: string | undefined, mark: string | undefined): ParameterEnd {
  if (name !== undefined) return { type: 'next parameter', name };
  if (mark !== undefined && mark !== '</tool_call>') return { type: 'next call', mark };
  return { type: text === '</parameter>' ? 'parameter' : 'call' };
}

function possibleStart(text: string): number {
  let start = text.indexOf('<', Math.max(0, text.length - longest));
  while (start >= 0 && !mayBegin(text.slice(start))) start = text.indexOf('<', start + 1);
  return start < 0 ? text.length : start;
}
