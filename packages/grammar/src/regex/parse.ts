import { GrammarError } from '../error.js';
import type { Work } from '../turns.js';
import {
  complement,
  DIGITS,
  findProperty,
  LINE_ENDS,
  MAX_POINT,
  normalise,
  notProperty,
  property,
  SPACE,
  WORD,
} from './points.js';
import type { Range } from './utf8.js';

/** A parsed regular expression over characters. */
export type Pattern =
  | { readonly kind: 'set'; readonly ranges: readonly Range[] }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly part: Pattern; readonly min: number; readonly max: number }
  | { readonly kind: 'start' | 'end' };

const MAX_DEPTH = 100;
const MAX_LENGTH = 32_768;
const MAX_RANGES = 50_000; // of all sets in brackets: some milliseconds
const CONTROLS: Record<string, number> = { n: 10, r: 13, t: 9, v: 11, f: 12, '0': 0 };
const CLASSES: Record<string, readonly Range[]> = {
  d: DIGITS,
  w: WORD,
  s: SPACE,
  D: complement(DIGITS),
  W: complement(WORD),
  S: complement(SPACE),
};

/** ECMA-262 patterns without lookaround, backreferences and word boundaries: these are refused by name. */
export function* parsePattern(source: string): Work<Pattern> {
  if (source.length > MAX_LENGTH)
    throw new GrammarError(
      'TOO_COMPLEX',
      '',
      `a regular expression of ${source.length} characters; the bound is ${MAX_LENGTH}`,
    );
  for (const [, name = ''] of source.matchAll(/\\[pP]\{([^}]*)\}/g)) yield* findProperty(name);
  return new Parser([...source]).whole();
}

class Parser {
  private at = 0;
  private depth = 0;
  /** Of the sets so far. */
  private ranges = 0;

  constructor(private readonly chars: readonly string[]) {}

  whole(): Pattern {
    const pattern = this.choice();
    if (this.at < this.chars.length) this.fail('INVALID', `unexpected ${this.peek()}`);
    return pattern;
  }

  private choice(): Pattern {
    if (++this.depth > MAX_DEPTH) this.fail('TOO_COMPLEX', `groups nested more than ${MAX_DEPTH} deep`);
    const parts = [this.sequence()];
    while (this.take('|')) parts.push(this.sequence());
    this.depth--;
    return parts.length === 1 ? (parts[0] as Pattern) : { kind: 'choice', parts };
  }

  private sequence(): Pattern {
    const parts: Pattern[] = [];
    while (this.at < this.chars.length && this.peek() !== '|' && this.peek() !== ')') parts.push(this.term());
    return { kind: 'sequence', parts };
  }

  private term(): Pattern {
    const part = this.atom();
    const count = this.quantifier();
    if (!count) return part;
    if (part.kind === 'start' || part.kind === 'end') this.fail('INVALID', 'a repeated anchor');
    this.take('?'); // laziness does not change which texts match
    if (this.quantifier()) this.fail('INVALID', 'a repetition of a repetition: group the first one, (?:…)');
    return { kind: 'repeat', part, min: count[0], max: count[1] };
  }

  private quantifier(): readonly [number, number] | undefined {
    if (this.take('*')) return [0, Infinity];
    if (this.take('+')) return [1, Infinity];
    if (this.take('?')) return [0, 1];
    if (this.peek() !== '{') return undefined;
    const match = /^\{(\d+)(,(\d*))?\}/.exec(this.chars.slice(this.at, this.at + 40).join(''));
    if (!match) return undefined;
    this.at += match[0].length;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] ? Number(match[3]) : Infinity;
    if (max < min) this.fail('INVALID', `the repetition ${match[0]} has its bounds in the wrong order`);
    return [min, max];
  }

  private atom(): Pattern {
    const char = this.next();
    if (char === '^') return { kind: 'start' };
    if (char === '$') return { kind: 'end' };
    if (char === '.') return ANY;
    if (char === '(') return this.group();
    if (char === '[') return set(this.brackets());
    if (char === '\\') return set(this.escape(false));
    if ('*+?'.includes(char)) this.fail('INVALID', `nothing to repeat before ${char}`);
    return set(single(char.codePointAt(0) as number));
  }

  private group(): Pattern {
    if (this.take('?')) {
      const kind = this.next();
      if (kind === '<' && this.peek() !== '=' && this.peek() !== '!') while (this.next() !== '>');
      else if (kind !== ':')
        this.fail('UNSUPPORTED', `the group (?${kind} cannot be enforced; write the pattern without it`);
    }
    const inner = this.choice();
    if (!this.take(')')) this.fail('INVALID', 'a group without end');
    return inner;
  }

  private brackets(): readonly Range[] {
    const negated = this.take('^');
    const ranges: Range[] = [];
    const classes = new Set<readonly Range[]>();
    while (!this.take(']')) {
      const low = this.member();
      if (this.peek() === '-' && this.chars[this.at + 1] !== ']' && low.length === 1 && isSingle(low)) {
        this.at++;
        const high = this.member();
        if (!isSingle(high) || high[0][0] < low[0][0]) this.fail('INVALID', 'a range in the wrong order');
        ranges.push([low[0][0], high[0][0]]);
      } else if (!classes.has(low)) {
        classes.add(low);
        ranges.push(...low);
      }
      if (this.ranges + ranges.length > MAX_RANGES)
        this.fail('TOO_COMPLEX', `sets of characters have more than ${MAX_RANGES} ranges in all`);
    }
    this.ranges += ranges.length;
    return negated ? complement(ranges) : normalise(ranges);
  }

  private member(): readonly Range[] {
    const char = this.next();
    return char === '\\' ? this.escape(true) : single(char.codePointAt(0) as number);
  }

  private escape(inBrackets: boolean): readonly Range[] {
    const char = this.next();
    if (char === 'b' && inBrackets) return single(8);
    if (char in CLASSES) return CLASSES[char] as readonly Range[];
    if (char in CONTROLS) return single(CONTROLS[char] as number);
    if (char === 'x') return single(this.hex(2));
    if (char === 'u') return single(this.unicode());
    if (char === 'c') return single(this.next().charCodeAt(0) % 32);
    if (char === 'p' || char === 'P') return this.property(char === 'P');
    if (/[1-9bBk]/.test(char))
      this.fail('UNSUPPORTED', `\\${char} cannot be enforced; write the pattern without it`);
    return single(char.codePointAt(0) as number);
  }

  private property(negated: boolean): readonly Range[] {
    if (!this.take('{')) this.fail('INVALID', '\\p without a name in braces');
    let name = '';
    for (let char = this.next(); char !== '}'; char = this.next()) name += char;
    try {
      return negated ? notProperty(name) : property(name);
    } catch {
      return this.fail('INVALID', `unknown property \\p{${name}}`);
    }
  }

  private unicode(): number {
    if (this.take('{')) {
      let digits = '';
      for (let char = this.next(); char !== '}'; char = this.next()) digits += char;
      const point = Number.parseInt(digits, 16);
      return point <= MAX_POINT ? point : this.fail('INVALID', `\\u{${digits}} is no code point`);
    }
    const point = this.hex(4);
    const isPair =
      point >= 0xd800 && point < 0xdc00 && this.peek() === '\\' && this.chars[this.at + 1] === 'u';
    if (!isPair) return point;
    this.at += 2;
    return 0x10000 + ((point - 0xd800) << 10) + (this.hex(4) - 0xdc00);
  }

  private hex(digits: number): number {
    const text = this.chars.slice(this.at, this.at + digits).join('');
    if (!/^[0-9a-fA-F]+$/.test(text) || text.length !== digits) this.fail('INVALID', 'a malformed escape');
    this.at += digits;
    return Number.parseInt(text, 16);
  }

  private peek(): string {
    return this.chars[this.at] ?? '';
  }

  private next(): string {
    return this.chars[this.at++] ?? this.fail('INVALID', 'the pattern ends too early');
  }

  private take(char: string): boolean {
    if (this.chars[this.at] !== char) return false;
    this.at++;
    return true;
  }

  private fail(code: 'INVALID' | 'UNSUPPORTED' | 'TOO_COMPLEX', detail: string): never {
    throw new GrammarError(code, `offset ${this.at}`, `in the regular expression: ${detail}`);
  }
}

const single = (point: number): [Range] => [[point, point]];
const set = (ranges: readonly Range[]): Pattern => ({ kind: 'set', ranges });
const ANY = set(complement(LINE_ENDS));
const isSingle = (ranges: readonly Range[]): ranges is [Range] =>
  ranges.length === 1 && (ranges[0] as Range)[0] === (ranges[0] as Range)[1];
