import { exactNumber } from './json-number.js';

/**
 * `JSON.parse`, but numbers keep their digits: those that JavaScript's numbers would change become bigints or
 * `JsonNumber`s (1.0 among them, which `JSON.stringify` writes as 1).
 * @throws SyntaxError of `JSON.parse`
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasOtherNumbers(text) ? new Reader(text).read() : value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const numberCharacters = ['.', 'e', 'E'];
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** Behind the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at + 1;
  }
  return text.length;
}

const words = /[\w.+-]+/y;

/** The number, true, false or null at `start`. */
function wordAt(text: string, start: number): string {
  words.lastIndex = start;
  return words.exec(text)?.[0] ?? '';
}

/** Behind the number that begins at `start`; -1: JavaScript's numbers change how it is written. */
function endOfSame(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at++;
  const isShort = at > start && at - start <= 15 && text.charCodeAt(start) !== ZERO;
  if (isShort && !numberCharacters.includes(text[at] ?? '')) return at;
  const word = wordAt(text, start);
  return String(Number(word)) === word ? start + word.length : -1;
}

/** Whether a JSON text has numbers that JavaScript's numbers change. */
function hasOtherNumbers(text: string): boolean {
  let at = 0;
  while (at >= 0 && at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === MINUS || isDigit(code)) at = endOfSame(text, at);
    else at++;
  }
  return at < 0;
}

type Container = unknown[] | Record<string, unknown>;

/** Reads a text that is JSON, without recursion. */
class Reader {
  private at = 0;
  private readonly open: Container[] = [];
  /** Of the member whose value comes next; undefined: a key comes, or the container is an array. */
  private key: string | undefined;
  private root: unknown;

  constructor(private readonly text: string) {}

  read(): unknown {
    while (this.at < this.text.length) this.step(this.text[this.at]!);
    return this.root;
  }

  private step(c: string): void {
    if (c === '{') this.begin({});
    else if (c === '[') this.begin([]);
    else if (c === '"') this.string();
    else if (/[-\dtfn]/.test(c)) this.word();
    else {
      if (c === '}' || c === ']') this.open.pop();
      this.at++;
    }
  }

  private begin(container: Container): void {
    this.put(container);
    this.open.push(container);
    this.at++;
  }

  private string(): void {
    const end = endOfString(this.text, this.at);
    const value = JSON.parse(this.text.slice(this.at, end)) as string;
    this.at = end;
    const inner = this.open[this.open.length - 1];
    if (inner && !Array.isArray(inner) && this.key === undefined) this.key = value;
    else this.put(value);
  }

  private word(): void {
    const word = wordAt(this.text, this.at);
    this.at += word.length;
    this.put(/^[tfn]/.test(word) ? (JSON.parse(word) as unknown) : exactNumber(word));
  }

  private put(value: unknown): void {
    const inner = this.open[this.open.length - 1];
    if (inner === undefined) this.root = value;
    else if (Array.isArray(inner)) inner.push(value);
    // as JSON.parse: `__proto__` is a key like others
    else
      Object.defineProperty(inner, this.key!, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    this.key = undefined;
  }
}
