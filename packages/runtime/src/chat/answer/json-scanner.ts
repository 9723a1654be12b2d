import { isSpace } from './edge-spaces.js';

type State =
  | 'value' // a value must come
  | 'first item' // a value or ]
  | 'first key' // a key or }
  | 'key'
  | 'colon'
  | 'behind' // behind a value: a comma or the end of its container
  | 'string'
  | 'escape'
  | 'hex'
  | 'word' // a number, true, false, null
  | 'end';

/** What a character of a JSON object is: of a key or value of the outermost object, or between them. */
export type Part = 'key' | 'value' | 'between' | 'bad';

const isWord = (text: string): boolean =>
  /^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(text);

/**
 * Reads one JSON object, a character at a time: RFC 8259, but line breaks and other control characters may stand in
 * strings, as models write them; `escaped` gives their JSON form.
 */
export class JsonScanner {
  private readonly open: string[] = [];
  private state: State = 'value';
  private isKey = false;
  private hexLeft = 0;
  /** Characters of an escape that is not whole yet. */
  pending = 0;
  private word = '';

  /** The object is whole. */
  get done(): boolean {
    return this.state === 'end';
  }

  /** 'bad': the character cannot follow, and the scanner is of no further use. */
  step(c: string): Part {
    const { state } = this;
    const before = this.open.length;
    if (!this.take(c)) return 'bad';
    this.pending = this.state === 'escape' || this.state === 'hex' ? this.pending + 1 : 0;
    if (before > 1 || this.open.length > 1) return 'value';
    const written = [state, this.state].some(
      (each) => each === 'string' || each === 'escape' || each === 'hex',
    );
    if (written) return this.isKey ? 'key' : 'value';
    return this.state === 'word' ? 'value' : 'between';
  }

  /** A character as JSON has it: the last one stepped over. */
  escaped(c: string): string {
    return c < ' ' && this.state === 'string' ? JSON.stringify(c).slice(1, -1) : c;
  }

  private take(c: string): boolean {
    switch (this.state) {
      case 'string':
        return this.inString(c);
      case 'escape':
        return this.inEscape(c);
      case 'hex':
        if (!/[0-9a-fA-F]/.test(c)) return false;
        if (--this.hexLeft === 0) this.state = 'string';
        return true;
      case 'word':
        return this.inWord(c);
      default:
        return isSpace(c) || this.structure(c);
    }
  }

  private inString(c: string): boolean {
    if (c === '\\') this.state = 'escape';
    else if (c === '"') this.state = this.isKey ? 'colon' : 'behind';
    return true;
  }

  private inEscape(c: string): boolean {
    this.state = c === 'u' ? 'hex' : 'string';
    this.hexLeft = 4;
    return '"\\/bfnrtu'.includes(c);
  }

  private inWord(c: string): boolean {
    if (/[\w.+-]/.test(c)) {
      this.word += c;
      return true;
    }
    this.state = 'behind';
    return isWord(this.word) && this.take(c);
  }

  private structure(c: string): boolean {
    switch (this.state) {
      case 'first key':
        return (c === '}' && this.close(c)) || this.beginKey(c);
      case 'key':
        return this.beginKey(c);
      case 'colon':
        this.state = 'value';
        return c === ':';
      case 'behind':
        return c === ',' ? this.comma() : this.close(c);
      case 'first item':
        return (c === ']' && this.close(c)) || this.beginValue(c);
      case 'value':
        return this.beginValue(c);
      default:
        return false;
    }
  }

  private beginKey(c: string): boolean {
    this.isKey = true;
    this.state = 'string';
    return c === '"';
  }

  private beginValue(c: string): boolean {
    this.isKey = false;
    if (this.open.length === 0 && c !== '{') return false;
    if (c === '{' || c === '[') {
      this.open.push(c);
      this.state = c === '{' ? 'first key' : 'first item';
      return true;
    }
    this.state = c === '"' ? 'string' : 'word';
    this.word = c;
    return c === '"' || /[-\dtfn]/.test(c);
  }

  private comma(): boolean {
    this.state = this.open[this.open.length - 1] === '{' ? 'key' : 'value';
    return true;
  }

  private close(c: string): boolean {
    if (c !== (this.open[this.open.length - 1] === '{' ? '}' : ']')) return false;
    this.open.pop();
    this.state = this.open.length === 0 ? 'end' : 'behind';
    return true;
  }
}
