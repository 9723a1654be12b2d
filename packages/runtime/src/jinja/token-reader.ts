import { TemplateSyntaxError } from './error.js';
import type { Token, TokenKind } from './lexer.js';

const END: Token = { kind: 'text', text: '', line: 0 };

/** Walks over tokens. */
export class TokenReader {
  private at = 0;
  private depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  get ended(): boolean {
    return this.at >= this.tokens.length;
  }

  get current(): Token {
    return this.tokens[this.at] ?? END;
  }

  get next(): Token {
    return this.tokens[this.at + 1] ?? END;
  }

  advance(): Token {
    const token = this.current;
    this.at++;
    return token;
  }

  is(kind: TokenKind, text?: string): boolean {
    const token = this.tokens[this.at];
    return token?.kind === kind && (text === undefined || token.text === text);
  }

  isOperator(...texts: readonly string[]): boolean {
    return this.is('operator') && texts.includes(this.current.text);
  }

  isName(...texts: readonly string[]): boolean {
    return this.is('name') && texts.includes(this.current.text);
  }

  /** Advances past the current token if it matches. */
  skip(kind: TokenKind, text?: string): boolean {
    if (!this.is(kind, text)) return false;
    this.at++;
    return true;
  }

  expect(kind: TokenKind, text?: string): Token {
    if (!this.is(kind, text)) this.fail(`expected ${describe(kind, text)}, found ${this.found()}`);
    return this.advance();
  }

  /**
   * Runs `parse` one level deeper. The limit keeps the JavaScript stack from overflowing; real templates nest far less.
   */
  nested<T>(parse: () => T): T {
    if (++this.depth > 200) this.fail('expressions and blocks are nested more than 200 deep');
    const result = parse();
    this.depth--;
    return result;
  }

  found(): string {
    return this.ended ? 'the end of the template' : describe(this.current.kind, this.current.text);
  }

  fail(what: string): never {
    const { line } = this.tokens[this.at] ?? this.tokens.at(-1) ?? { line: 1 };
    throw new TemplateSyntaxError(`line ${line}: ${what}`);
  }
}

const MARKS: Partial<Record<TokenKind, string>> = { open: '{{', close: '}}', begin: '{%', end: '%}' };

const describe = (kind: TokenKind, text: string | undefined): string =>
  MARKS[kind] ?? (text ? JSON.stringify(text) : `a ${kind}`);
