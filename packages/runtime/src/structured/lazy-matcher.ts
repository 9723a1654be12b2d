import type { Grammar, Matcher, Vocabulary } from '@quern/grammar';
import type { TokenMatcher } from './token-matcher.js';

/** Where a structure begins in a free text, and which. */
export interface Trigger {
  /** The text before the structure; its first group, or '', is a key of `behind`. Global; a character per byte of UTF-8. */
  readonly pattern: RegExp;
  /** What follows, by key: a structure, then anything. As soon as the structure is whole, the text is free again. */
  readonly behind: ReadonlyMap<string, Grammar>;
  /** True: counts only behind another structure. */
  readonly next: boolean;
}

export interface LazyGrammar {
  readonly triggers: readonly Trigger[];
  /** The most bytes that decide about a trigger. */
  readonly longest: number;
  /** Triggers in thoughts do not count. 'parted': thoughts may begin the text. 'open': they have begun. */
  readonly thinking: 'parted' | 'open' | undefined;
}

/** The place behind a token. */
interface Place {
  readonly thoughts: 'possible' | 'inside' | 'over';
  /** The end of the text, as far as triggers need it. */
  readonly text: string;
  /** There has been a structure. */
  readonly seen: boolean;
  /** The structure that the text is in; undefined: any token may come next. */
  readonly inside: { readonly matcher: Matcher; readonly length: number } | undefined;
  /** The structure may be whole: its matcher has to be settled first. */
  readonly isOpen?: boolean;
}

const nowhere: Place = { thoughts: 'over', text: '', seen: false, inside: undefined };
const opening = '<think>';
const closing = '</think>';
const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1');

/** A free text until a trigger, then what its structure allows, then a free text again: a lazy grammar, as others say. */
export class LazyMatcher implements TokenMatcher {
  /** The place after each accepted token; the first is before all. */
  private places: Place[];

  constructor(
    private readonly grammar: LazyGrammar,
    readonly vocabulary: Vocabulary,
  ) {
    const thoughts = { parted: 'possible', open: 'inside' } as const;
    const { thinking } = grammar;
    this.places = [{ ...nowhere, thoughts: thinking ? thoughts[thinking] : 'over' }];
  }

  get length(): number {
    return this.places.length - 1;
  }

  get isFree(): boolean {
    return this.place.inside === undefined;
  }

  mask(into: Int32Array): void {
    const { inside } = this.place;
    if (inside) inside.matcher.mask(into);
    else into.fill(-1);
  }

  maskInTurns(into: Int32Array, signal?: AbortSignal): Promise<void> | undefined {
    const { inside } = this.place;
    if (inside) return inside.matcher.maskInTurns(into, signal);
    into.fill(-1);
    return undefined;
  }

  settle(signal?: AbortSignal): Promise<void> | undefined {
    return this.places.at(-1)!.inside?.matcher.settle(signal);
  }

  allows(token: number): boolean {
    return this.place.inside?.matcher.allows(token) ?? true;
  }

  accept(token: number): void {
    const { place } = this;
    const added = Buffer.from(this.vocabulary.bytesOf(token)).toString('latin1');
    if (!place.inside) this.places.push(this.behind(place, added));
    else {
      const { matcher } = place.inside;
      matcher.accept(token);
      const text = place.text + added;
      if (matcher.isSettled) this.places.push(this.in(matcher, text));
      else this.places.push({ ...nowhere, text, inside: { matcher, length: matcher.length }, isOpen: true });
    }
  }

  forcedInTurns(signal?: AbortSignal): number[] | Promise<number[]> {
    return this.places.at(-1)!.isOpen
      ? this.forcedLater(signal)
      : (this.place.inside?.matcher.forcedInTurns(signal) ?? []);
  }

  private async forcedLater(signal: AbortSignal | undefined): Promise<number[]> {
    await this.settle(signal);
    return this.place.inside?.matcher.forcedInTurns(signal) ?? [];
  }

  rollback(tokens: number): void {
    this.places.length -= tokens;
    const { inside } = this.place;
    inside?.matcher.rollback(inside.matcher.length - inside.length);
  }

  clone(): LazyMatcher {
    const copy = new LazyMatcher(this.grammar, this.vocabulary);
    const matchers = new Map<Matcher, Matcher>();
    const cloned = (matcher: Matcher): Matcher => {
      const known = matchers.get(matcher) ?? matcher.clone();
      matchers.set(matcher, known);
      return known;
    };
    copy.places = this.places.map((place) =>
      place.inside ? { ...place, inside: { ...place.inside, matcher: cloned(place.inside.matcher) } } : place,
    );
    return copy;
  }

  private get place(): Place {
    const last = this.places.at(-1) as Place;
    if (!last.isOpen || !last.inside) return last;
    const place = this.in(last.inside.matcher, last.text);
    this.places[this.places.length - 1] = place;
    return place;
  }

  /** The place in a structure, or behind it where it is whole. */
  private in(matcher: Matcher, text: string): Place {
    const inside = matcher.isAccepting ? undefined : { matcher, length: matcher.length };
    return { ...nowhere, text: this.cut(text), seen: true, inside };
  }

  /** The place behind `added`, which follows a free text. */
  private behind(place: Place, added: string): Place {
    const { thoughts, seen } = place;
    const text = place.text + added;
    if (thoughts === 'over') return this.answered(text, added.length, seen);
    if (thoughts === 'possible') return this.begun(text);
    const end = text.indexOf(closing);
    if (end < 0) return { ...place, text: text.slice(-closing.length) };
    const answer = text.slice(end + closing.length);
    return this.answered(answer, answer.length, seen);
  }

  /** Whether the text begins with thoughts. */
  private begun(text: string): Place {
    const begin = text.trimStart();
    if (opening.startsWith(begin)) return { ...nowhere, thoughts: 'possible', text: begin };
    if (!begin.startsWith(opening)) return this.answered(text, text.length, false);
    return this.behind({ ...nowhere, thoughts: 'inside' }, begin.slice(opening.length));
  }

  /** @param added how many of the last bytes are new: triggers that end before them have been looked at */
  private answered(text: string, added: number, seen: boolean): Place {
    for (const { pattern, behind, next } of this.grammar.triggers)
      for (const match of seen || !next ? text.matchAll(pattern) : []) {
        const end = match.index + match[0].length;
        if (end <= text.length - added) continue;
        const matcher = behind.get(match[1] ?? '')!.matcher(this.vocabulary);
        if (end === text.length)
          return { ...nowhere, text: this.cut(text), seen: true, inside: { matcher, length: 0 } };
        if (matcher.acceptBytes(bytesOf(text.slice(end)))) return this.in(matcher, text);
      }
    return { ...nowhere, text: this.cut(text), seen };
  }

  private cut(text: string): string {
    return text.slice(-this.grammar.longest);
  }
}
