const NONE: readonly number[] = [];

/**
 * A string that marks its typed characters: those from outside (users), not from the template. `typed`: start and end
 * of each typed span, in UTF-16 units, in order; spans never touch.
 */
export class Text {
  constructor(
    readonly value: string,
    readonly typed: readonly number[] = NONE,
  ) {}

  /** A string that is typed as a whole. */
  static typed(value: string): Text {
    return new Text(value, value === '' ? NONE : [0, value.length]);
  }

  get length(): number {
    return this.value.length;
  }

  /** The part between two offsets in UTF-16 units. */
  slice(start: number, end: number = this.length): Text {
    const value = this.value.slice(start, end);
    if (this.typed.length === 0 || value === '') return new Text(value);
    const typed: number[] = [];
    for (let i = this.spanAfter(start); i < this.typed.length && this.typed[i]! < end; i += 2)
      typed.push(Math.max(this.typed[i]!, start) - start, Math.min(this.typed[i + 1]!, end) - start);
    return new Text(value, typed);
  }

  /** Index in `typed` of the first span with end > `offset`. */
  private spanAfter(offset: number): number {
    let [low, high] = [0, this.typed.length / 2];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.typed[2 * middle + 1]! > offset) high = middle;
      else low = middle + 1;
    }
    return 2 * low;
  }

  /** Applies `change` to each run of characters of the same origin. */
  map(change: (run: string) => string): Text {
    if (this.typed.length === 0) return new Text(change(this.value));
    const out = new TextBuilder();
    let end = 0;
    for (let i = 0; i < this.typed.length; i += 2) {
      out.add(new Text(change(this.value.slice(end, this.typed[i]))));
      end = this.typed[i + 1]!;
      out.add(Text.typed(change(this.value.slice(this.typed[i], end))));
    }
    return out.add(new Text(change(this.value.slice(end)))).text();
  }
}

export const EMPTY = new Text('');

/** Concatenates texts. */
export class TextBuilder {
  private readonly parts: string[] = [];
  private readonly typed: number[] = [];
  length = 0;

  add({ value, typed }: Text): this {
    for (let i = 0; i < typed.length; i += 2)
      this.addSpan(typed[i]! + this.length, typed[i + 1]! + this.length);
    this.parts.push(value);
    this.length += value.length;
    return this;
  }

  text(): Text {
    return new Text(this.parts.join(''), this.typed);
  }

  private addSpan(start: number, end: number): void {
    if (this.typed.at(-1) === start) this.typed[this.typed.length - 1] = end;
    else this.typed.push(start, end);
  }
}

export function concat(a: Text, b: Text): Text {
  if (a.typed.length === 0 && b.typed.length === 0) return new Text(a.value + b.value);
  const typed = [...a.typed];
  for (let i = 0; i < b.typed.length; i += 2) {
    const start = b.typed[i]! + a.length;
    if (typed.at(-1) === start) typed.pop();
    else typed.push(start);
    typed.push(b.typed[i + 1]! + a.length);
  }
  return new Text(a.value + b.value, typed);
}

export function join(texts: Iterable<Text>, separator: Text = EMPTY): Text {
  const out = new TextBuilder();
  let first = true;
  for (const text of texts) {
    if (!first && separator.length > 0) out.add(separator);
    out.add(text);
    first = false;
  }
  return out.text();
}

/** Characters as Python counts them (code points), as texts. */
export function characters(text: Text): Text[] {
  const all: Text[] = [];
  let at = 0;
  for (const character of text.value) {
    all.push(text.slice(at, at + character.length));
    at += character.length;
  }
  return all;
}

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

/** Number of characters as Python counts them (code points). */
export function characterCount({ value }: Text): number {
  if (!PAIR.test(value)) return value.length;
  let count = 0;
  for (const _ of value) count++;
  return count;
}

/** Offset in UTF-16 units of character `index`. */
export function offsetOf({ value }: Text, index: number): number {
  if (!PAIR.test(value)) return index;
  let offset = 0;
  for (let i = 0; i < index; i++) offset += value.codePointAt(offset)! > 0xffff ? 2 : 1;
  return offset;
}

/** Index of the character at an offset in UTF-16 units. */
export function indexOfOffset(text: Text, offset: number): number {
  return PAIR.test(text.value) ? characterCount(text.slice(0, offset)) : offset;
}
