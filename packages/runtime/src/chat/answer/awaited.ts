import { isSpace } from './edge-spaces.js';

/** A literal that may come next, behind white space. */
export class Awaited {
  private found = '';

  constructor(private readonly literal: string) {}

  /** No character of the literal has come. */
  get untouched(): boolean {
    return this.found === '';
  }

  /** 'whole': the literal is there. 'other': something else comes. */
  step(c: string): 'more' | 'whole' | 'other' {
    if (this.found === '' && isSpace(c)) return 'more';
    if (!this.literal.startsWith(this.found + c)) return 'other';
    this.found += c;
    return this.found === this.literal ? 'whole' : 'more';
  }
}
