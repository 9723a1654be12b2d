import { search } from '../regex/compile.js';
import { Emptiness } from '../regex/empty.js';
import { parsePattern } from '../regex/parse.js';
import { complement, normalise } from '../regex/points.js';
import { NOTHING, type Regex, Regexes } from '../regex/regexes.js';
import { type Range, utf8 } from '../regex/utf8.js';
import { atOnce, inTurns, type Work } from '../turns.js';

/** Characters that JSON strings hold only as escapes. */
const ESCAPED: Range[] = [
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
];
const PLAIN = complement(ESCAPED);

const PART = 64; // bytes of a text: a fraction of a millisecond

/** The text of a canonical string, without its quotes. */
export const innerText = (text: string): string => JSON.stringify(text).slice(1, -1);

/** What all grammars know of characters: made once, copied by each. */
class Characters {
  readonly regexes = new Regexes();
  private readonly plain = utf8(this.regexes, PLAIN);
  /** One character, canonical. */
  readonly canonical = this.regexes.or(this.plain, escapes(this.regexes, ESCAPED));
  /** One character, with any escape that JSON allows for a whole code point. */
  readonly free = this.regexes.or(this.plain, anyEscape(this.regexes));
  readonly quote = this.regexes.byte(0x22);

  /** Finds the derivatives of strings; yields where other work may come between. */
  *derive(): Generator<void> {
    for (const unit of [this.canonical, this.free]) {
      const string = this.regexes.concat(this.regexes.many(unit), this.quote);
      yield* derivatives(this.regexes, string);
    }
  }
}

/** Finds all derivatives of an expression that has few. */
function* derivatives(regexes: Regexes, regex: Regex): Generator<void> {
  const seen = new Set([regex]);
  for (const at of seen) {
    for (let byte = 0; byte < 256; byte++) seen.add(regexes.derive(at, byte));
    yield;
  }
}

let characters: Characters | undefined;

/** Makes what all schemas know of characters; yields where other work may come between. */
function* makeCharacters(): Generator<void, Characters> {
  const made = new Characters();
  yield;
  yield* made.derive();
  characters ??= made;
  return characters;
}

function knownCharacters(): Characters {
  return characters ?? atOnce(makeCharacters());
}

/**
 * Makes what all schemas share, in turns of the event loop. Without it the first `compileSchema` of a process makes it, which
 * takes some 20 ms.
 */
export async function prepareSchemas(): Promise<void> {
  if (!characters) await inTurns(makeCharacters());
}

/** JSON strings as expressions. "Canonical": as JSON.stringify writes it, so that each text has one spelling. */
export class Strings {
  private readonly base = knownCharacters();
  readonly regexes = new Regexes(this.base.regexes);
  readonly emptiness = new Emptiness(this.regexes);
  readonly canonical = this.base.canonical;
  readonly free = this.base.free;
  readonly quote = this.base.quote;
  private readonly patterns = new Map<string, Regex>();
  private readonly spelled = new Map<string, Regex>();

  /** The content of canonical strings in which `source` (ECMA-262) matches somewhere. */
  matching(source: string): Regex {
    return atOnce(this.match(source));
  }

  /** `matching` in parts. */
  *match(source: string): Work<Regex> {
    const known = this.patterns.get(source);
    if (known !== undefined) return known;
    const spell = (ranges: readonly Range[]) => this.spell(ranges);
    const pattern = yield* parsePattern(source);
    const regex = yield* search(this.regexes, pattern, spell, this.canonical);
    this.patterns.set(source, regex);
    return regex;
  }

  quoted(content: Regex): Regex {
    return this.regexes.sequence([this.quote, content, this.quote]);
  }

  /** True if `regex` matches the whole of `text`; in parts. */
  *follow(regex: Regex, text: string): Work<boolean> {
    let rest = regex;
    for (const [i, byte] of new TextEncoder().encode(text).entries()) {
      rest = this.regexes.derive(rest, byte);
      if (rest === NOTHING) return false;
      if (i % PART === PART - 1) yield;
    }
    return this.regexes.nullable(rest);
  }

  private spell(ranges: readonly Range[]): Regex {
    const key = ranges.join();
    const known = this.spelled.get(key);
    if (known !== undefined) return known;
    const { regexes } = this;
    const regex = regexes.or(utf8(regexes, intersect(ranges, PLAIN)), escapes(regexes, ranges));
    this.spelled.set(key, regex);
    return regex;
  }
}

function escapes(regexes: Regexes, ranges: readonly Range[]): Regex {
  const escaped: Regex[] = [];
  for (const [low, high] of intersect(ranges, ESCAPED))
    for (let point = low; point <= high; point++)
      escaped.push(regexes.text(JSON.stringify(String.fromCodePoint(point)).slice(1, -1)));
  return regexes.or(...escaped);
}

function anyEscape(regexes: Regexes): Regex {
  const hex = regexes.or(regexes.range(0x30, 0x39), regexes.range(0x41, 0x46), regexes.range(0x61, 0x66));
  const one = (chars: string) => regexes.or(...[...chars].map((char) => regexes.text(char)));
  const tail = (count: number) => regexes.repeat(hex, count, count);
  const notD = regexes.or(regexes.range(0x30, 0x39), one('ABCEFabcef'));
  const bmp = regexes.or(
    regexes.concat(notD, tail(3)),
    regexes.sequence([one('Dd'), regexes.range(0x30, 0x37), tail(2)]),
  );
  const pair = [one('Dd'), one('89ABab'), tail(2), regexes.text('\\u'), one('Dd'), one('CDEFcdef'), tail(2)];
  const unicode = regexes.concat(regexes.text('u'), regexes.or(bmp, regexes.sequence(pair)));
  return regexes.concat(regexes.text('\\'), regexes.or(one('"\\/bfnrt'), unicode));
}

function intersect(a: readonly Range[], b: readonly Range[]): Range[] {
  const common: Range[] = [];
  for (const [low, high] of normalise(a))
    for (const [from, to] of b)
      if (Math.max(low, from) <= Math.min(high, to)) common.push([Math.max(low, from), Math.min(high, to)]);
  return common;
}
