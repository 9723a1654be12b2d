import { isSpace } from './edge-spaces.js';

const words: Readonly<Record<string, string>> = {
  True: 'true',
  False: 'false',
  None: 'null',
  true: 'true',
  false: 'false',
  null: 'null',
};

/** The JSON text of a Python number or constant; undefined for anything else. */
function wordAsJson(word: string): string | undefined {
  if (Object.hasOwn(words, word)) return words[word];
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(word)) return word; // as written: of any size
  return otherNumber(word.replaceAll('_', ''));
}

/** The JSON text of a number as only Python writes it, with all its digits. */
function otherNumber(word: string): string | undefined {
  if (/^0(x[\da-fA-F]+|o[0-7]+|b[01]+)$/i.test(word) && word.length < MOST_DIGITS)
    return BigInt(word).toString();
  const [, sign, whole, fraction = '', exponent = ''] =
    /^([+-]?)0*(\d*)(?:\.(\d*))?([eE][+-]?\d+)?$/.exec(word) ?? [];
  if (sign === undefined || !/^[+-]?\.?\d/.test(word)) return undefined;
  return `${sign === '-' ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}${exponent}`;
}

const MOST_DIGITS = 4300;

const escapes: Readonly<Record<string, string>> = {
  n: '\\n',
  t: '\\t',
  r: '\\r',
  b: '\\b',
  f: '\\f',
  a: '\\u0007',
  v: '\\u000b',
  '\\': '\\\\',
  "'": "'",
  '"': '\\"',
  '\n': '', // the line goes on
};

/** Digits of a character's number, by the letter of the escape. */
const digits: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

const asJson = (text: string): string => JSON.stringify(text).slice(1, -1);

type State = 'value' | 'key' | 'colon' | 'behind' | 'string' | 'escape' | 'number' | 'word' | 'end';

/**
 * Reads one Python literal, a character at a time, and gives it as JSON: strings, numbers, True, False, None, lists,
 * tuples (as lists) and dicts with keys that are strings.
 */
export class PythonValue {
  private state: State = 'value';
  private readonly open: string[] = [];
  /** A comma has come, and nothing behind it. */
  private comma = '';
  private quote = '';
  private isKey = false;
  private text = '';
  private letter = '';
  private wanted = 0;

  /** @param slash what `\\/` means: in Python itself, in JSON `/` */
  constructor(private readonly slash: '/' | '\\/' = '\\/') {}

  /** The value is whole; the last character was not taken. */
  get done(): boolean {
    return this.state === 'end';
  }

  /** Text that was read and not given yet: after a character that cannot follow. */
  get unread(): string {
    if (this.state === 'escape') return '\\';
    return this.state === 'number' ? `\\${this.letter}${this.text}` : this.text;
  }

  /** The JSON text completed by a character; undefined: it cannot follow. */
  step(c: string): string | undefined {
    switch (this.state) {
      case 'string':
        return this.inString(c);
      case 'escape':
        return this.inEscape(c);
      case 'number':
        return this.inNumber(c);
      case 'word':
        return this.inWord(c);
      default:
        return isSpace(c) ? '' : this.structure(c);
    }
  }

  private inString(c: string): string {
    if (c === '\\') this.state = 'escape';
    else if (c === this.quote) {
      this.state = this.isKey ? 'colon' : 'behind';
      return '"';
    } else return c < ' ' || c === '"' ? asJson(c) : c;
    return '';
  }

  private inEscape(c: string): string {
    this.state = Object.hasOwn(digits, c) ? 'number' : 'string';
    this.text = '';
    this.letter = c;
    this.wanted = digits[c] ?? 0;
    if (this.wanted > 0) return '';
    if (c === '/') return asJson(this.slash);
    return escapes[c] ?? asJson(`\\${c}`); // Python keeps unknown escapes as they are
  }

  private inNumber(c: string): string | undefined {
    const text = this.text + c;
    const code = Number.parseInt(text, 16);
    if (!/[\da-fA-F]/.test(c) || code > 0x10ffff) return undefined;
    this.text = text;
    if (text.length < this.wanted) return '';
    this.text = '';
    this.state = 'string';
    return this.wanted === 4 ? `\\u${text}` : asJson(String.fromCodePoint(code));
  }

  private inWord(c: string): string | undefined {
    if (/[\w.+-]/.test(c)) {
      this.text += c;
      return '';
    }
    const json = wordAsJson(this.text);
    if (json === undefined) return undefined;
    this.state = 'behind';
    this.text = json;
    const next = isSpace(c) ? '' : this.structure(c);
    if (next === undefined) return undefined;
    this.text = '';
    return json + next;
  }

  private structure(c: string): string | undefined {
    const inner = this.open[this.open.length - 1];
    if (this.state === 'colon') return c === ':' ? this.go('value', ': ') : undefined;
    if (this.state === 'behind') return this.behind(c, inner);
    const mayClose = this.state === 'key' || inner !== '}';
    if (c === inner && mayClose) return this.close();
    if (this.state === 'key') return c === '"' || c === "'" ? this.beginString(c, true) : undefined;
    return this.beginValue(c);
  }

  private behind(c: string, inner: string | undefined): string | undefined {
    if (c === inner) return this.close();
    if (inner === undefined) return c === ',' || c === ')' ? this.go('end', '') : undefined;
    this.comma = ', ';
    return c === ',' ? this.go(inner === '}' ? 'key' : 'value', '') : undefined;
  }

  private close(): string {
    this.comma = '';
    const end = this.open.pop() === '}' ? '}' : ']';
    return this.go('behind', end);
  }

  private beginValue(c: string): string | undefined {
    if (c === '"' || c === "'") return this.beginString(c, false);
    const begin = { '[': ']', '(': ')', '{': '}' }[c];
    if (begin !== undefined) {
      const { comma } = this;
      this.comma = '';
      this.open.push(begin);
      return this.go(c === '{' ? 'key' : 'value', comma + (c === '{' ? '{' : '['));
    }
    if (!/[\w.+-]/.test(c)) return undefined;
    this.text = c;
    const { comma } = this;
    this.comma = '';
    return this.go('word', comma);
  }

  private beginString(quote: string, isKey: boolean): string {
    const { comma } = this;
    this.comma = '';
    this.quote = quote;
    this.isKey = isKey;
    return this.go('string', `${comma}"`);
  }

  private go(state: State, text: string): string {
    this.state = state;
    return text;
  }
}
