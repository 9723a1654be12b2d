import { type CallReader, type CallSink, isTool } from './call-output.js';
import { isSpace } from './edge-spaces.js';
import { PythonValue } from './python-value.js';

const nameCharacter = /[\w.-]/;

type Place = 'name' | 'first key' | 'key' | 'equals' | 'value' | 'next key' | 'behind' | 'broken';

/**
 * Calls as Python writes them: `[f(a=1, b="x"), g()]`, or one `f.call(a=1)` without the list. A call begins at its
 * first `=` or its closing parenthesis.
 */
export class PythonCalls implements CallReader {
  ended = false;
  /** What was read since the last whole call, until the next one begins. */
  private held: string;
  private place: Place = 'name';
  private name = '';
  private key = '';
  private value = new PythonValue();
  private begun = false;
  /** Arguments to give out. */
  private json = '';

  /** @param mark what announced the calls: '[' for a list */
  constructor(
    private readonly sink: CallSink,
    private readonly mark: string,
  ) {
    this.held = mark;
  }

  get rest(): string {
    return this.held;
  }

  read(text: string, from: number): number {
    let at = from;
    while (at < text.length && !this.ended && this.place !== 'broken')
      if (this.accepts(text[at]!)) this.hold(text[at++]!);
      else this.leave();
    if (this.place === 'broken') {
      this.json += text.slice(at);
      at = text.length;
    }
    this.give();
    return at;
  }

  private hold(c: string): void {
    if (!this.begun && this.place !== 'behind' && !this.ended) this.held += c;
  }

  private leave(): void {
    if (!this.begun) {
      this.ended = true;
      return;
    }
    const inKey = this.place === 'key' || this.place === 'equals';
    this.json += inKey ? this.key : this.place === 'value' ? this.value.unread : '';
    this.place = 'broken';
  }

  private give(): void {
    if (this.json !== '') this.sink.arguments(this.json);
    this.json = '';
  }

  private accepts(c: string): boolean {
    if (this.place === 'value') return this.inValue(c);
    if (this.place === 'key' || this.place === 'name') return this.inWord(c);
    if (isSpace(c)) return true;
    if (this.place === 'behind') return this.behind(c);
    if (this.place === 'equals') return c === '=' && this.beginValue();
    if (c === ')') return this.close();
    this.place = 'key';
    this.key = c;
    return /[A-Za-z_]/.test(c);
  }

  /** A name or a keyword, and the character behind it. */
  private inWord(c: string): boolean {
    if (this.place === 'name') {
      if (nameCharacter.test(c)) this.name += c;
      else if (c === '(') return this.endName();
      return nameCharacter.test(c) || (isSpace(c) && this.name === '');
    }
    if (/\w/.test(c)) this.key += c;
    else if (isSpace(c)) this.place = 'equals';
    else return c === '=' && this.beginValue();
    return true;
  }

  private endName(): boolean {
    const isList = this.mark === '[';
    const method = this.name.endsWith('.call');
    if (!isList && method) this.name = this.name.slice(0, -'.call'.length);
    this.place = 'first key';
    return (isList || method) && this.name !== '' && isTool(this.sink, this.name);
  }

  private begin(): void {
    if (this.begun) return;
    this.begun = true;
    this.held = '';
    this.give();
    this.sink.call(this.name);
    this.json = '{';
  }

  private beginValue(): true {
    const separator = this.begun ? ', ' : '';
    this.begin();
    this.json += `${separator}${JSON.stringify(this.key)}: `;
    this.value = new PythonValue();
    this.place = 'value';
    return true;
  }

  private inValue(c: string): boolean {
    const json = this.value.step(c);
    if (json === undefined) return false;
    this.json += json;
    if (!this.value.done) return true;
    if (c === ')') return this.close();
    this.place = 'next key';
    return true;
  }

  private close(): true {
    this.begin();
    this.json += '}';
    this.begun = false;
    this.name = '';
    this.place = 'behind';
    this.ended = this.mark !== '[';
    return true;
  }

  private behind(c: string): boolean {
    this.ended = c === ']';
    if (c === ',') this.place = 'name';
    return c === ',' || c === ']';
  }
}
