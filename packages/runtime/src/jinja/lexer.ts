import { TemplateSyntaxError } from './error.js';
import { readString } from './string-literal.js';
import { SPACE, trimEnd } from './white-space.js';

export type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'begin'
  | 'end'
  | 'name'
  | 'string'
  | 'int'
  | 'float'
  | 'operator';

/** 'open' and 'close': {{ and }}. 'begin' and 'end': {% and %}. */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly line: number;
}

const OPENING = /\{([{%#])([-+]?)/g;
const RAW = new RegExp(`\\{%[-+]?${SPACE}*raw${SPACE}*(?:-%\\}${SPACE}*|%\\})`, 'y');
const END_RAW = new RegExp(`\\{%([-+]?)${SPACE}*endraw${SPACE}*(?:\\+%\\}|-%\\}${SPACE}*|%\\}\\n?)`, 'g');
const END_COMMENT = new RegExp(`(?:\\+#\\}|-#\\}${SPACE}*|#\\}\\n?)`, 'g');
const BLOCK_END = new RegExp(`(?:\\+%\\}|-%\\}${SPACE}*|%\\}\\n?)`, 'y');
const VARIABLE_END = new RegExp(`(?:-\\}\\}${SPACE}*|\\}\\})`, 'y');
const SPACES = new RegExp(`${SPACE}+`, 'y');
const TOKENS: readonly (readonly [TokenKind, RegExp])[] = [
  ['float', /(?<!\.)\d(?:_?\d)*(?:(?:\.\d(?:_?\d)*)?[eE][+-]?\d(?:_?\d)*|\.\d(?:_?\d)*)/y],
  ['int', /0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|\d(?:_?\d)*/y],
  ['name', /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy],
  ['operator', /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}>=<.:|,;]/y],
];
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * Splits a template into tokens, with trim_blocks and lstrip_blocks, as transformers does.
 * @throws TemplateSyntaxError
 */
export const tokenize = (source: string): Token[] => new Lexer(source).run();

class Lexer {
  private readonly source: string;
  private readonly tokens: Token[] = [];
  private at = 0;
  private counted = 0;
  private line = 1;

  /** Drops a single line break at the end of the template. */
  constructor(source: string) {
    this.source = source.replace(/\r\n?/g, '\n').replace(/\n$/, '');
  }

  run(): Token[] {
    const { source } = this;
    while (this.at < source.length) {
      const start = this.at;
      OPENING.lastIndex = start;
      const opening = OPENING.exec(source);
      if (!opening) {
        this.push('text', source.slice(start));
        break;
      }
      this.leading(start, opening.index, opening[2]!, opening[1] !== '{');
      this.at = opening.index;
      if (opening[1] === '#') this.comment(opening[0].length);
      else if (opening[1] === '{') this.code('open', opening[0], 'close', VARIABLE_END);
      else if (this.match(RAW)) this.raw();
      else this.code('begin', opening[0], 'end', BLOCK_END);
    }
    return this.tokens;
  }

  /** The text before a tag. `-` removes its trailing white space; a block alone on its line removes the indentation. */
  private leading(start: number, end: number, sign: string, isBlock: boolean): void {
    const text = this.source.slice(start, end);
    if (sign === '-') {
      this.push('text', trimEnd(text));
      return;
    }
    const lineStart = text.lastIndexOf('\n') + 1;
    const atLineStart = lineStart > 0 || start === 0 || this.source[start - 1] === '\n';
    const alone = isBlock && sign !== '+' && atLineStart && trimEnd(text.slice(lineStart)) === '';
    this.push('text', alone ? text.slice(0, lineStart) : text);
  }

  private comment(opening: number): void {
    END_COMMENT.lastIndex = this.at + opening;
    const end = END_COMMENT.exec(this.source);
    if (!end) this.fail('a comment has no end: #} is missing');
    this.at = end.index + end[0].length;
  }

  private raw(): void {
    const start = this.at;
    END_RAW.lastIndex = start;
    const end = END_RAW.exec(this.source);
    if (!end) this.fail('{% raw %} has no end: {% endraw %} is missing');
    this.leading(start, end.index, end[1]!, true);
    this.at = end.index + end[0].length;
  }

  private code(open: TokenKind, opening: string, close: TokenKind, end: RegExp): void {
    this.push(open, opening);
    this.at += opening.length;
    const closers: string[] = [];
    for (;;) {
      this.match(SPACES);
      if (this.at >= this.source.length) this.fail(`${opening} has no end`);
      if (closers.length === 0 && this.match(end)) break;
      this.token(closers);
    }
    this.push(close, '');
  }

  private token(closers: string[]): void {
    const { source } = this;
    const quote = source[this.at]!;
    if (quote === '"' || quote === "'") {
      const { value, end } = readString(source, this.at) ?? this.fail('a string has no end');
      this.push('string', value, true);
      this.at = end;
      return;
    }
    for (const [kind, pattern] of TOKENS) {
      const text = this.match(pattern);
      if (text === undefined) continue;
      if (kind === 'operator') this.balance(text, closers);
      this.push(kind, text);
      return;
    }
    this.fail(`unexpected character ${JSON.stringify(String.fromCodePoint(source.codePointAt(this.at)!))}`);
  }

  private balance(operator: string, closers: string[]): void {
    const closer = CLOSING[operator];
    if (closer) closers.push(closer);
    else if (operator === ')' || operator === ']' || operator === '}')
      if (closers.pop() !== operator) this.fail(`unexpected "${operator}"`);
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (!found) return undefined;
    this.at += found[0].length;
    return found[0];
  }

  private push(kind: TokenKind, text: string, evenEmpty = kind !== 'text'): void {
    if (text !== '' || evenEmpty) this.tokens.push({ kind, text, line: this.lineNumber() });
  }

  private lineNumber(): number {
    for (; this.counted < this.at; this.counted++) if (this.source[this.counted] === '\n') this.line++;
    return this.line;
  }

  private fail(what: string): never {
    throw new TemplateSyntaxError(`line ${this.lineNumber()}: ${what}`);
  }
}
