import { Matcher } from './matcher.js';
import { Automaton } from './terms/automaton.js';
import type { Term, Terms } from './terms/terms.js';
import type { Work } from './turns.js';
import { Masks } from './vocabulary/masks.js';
import type { Vocabulary } from './vocabulary/vocabulary.js';

/** A compiled grammar. It is shared by all its matchers and keeps what they have found out. */
export class Grammar {
  /** What a schema says that is not enforced, with its place: unknown formats. */
  readonly notices: readonly string[];
  private readonly automaton: Automaton;
  private readonly masks = new WeakMap<Vocabulary, Masks>();

  private constructor(terms: Terms, root: Term, notices: Iterable<string>) {
    this.notices = [...notices];
    this.automaton = new Automaton(terms, root);
  }

  /** @internal */
  static *make(terms: Terms, root: Term, notices: Iterable<string> = []): Work<Grammar> {
    const grammar = new Grammar(terms, root, notices);
    yield* grammar.automaton.begin();
    return grammar;
  }

  /** A matcher at the start of the text. */
  matcher(vocabulary: Vocabulary): Matcher {
    let masks = this.masks.get(vocabulary);
    if (!masks) {
      masks = new Masks(this.automaton, vocabulary);
      this.masks.set(vocabulary, masks);
    }
    return new Matcher(this.automaton, masks, vocabulary);
  }

  /** True if `text` is a whole text of the grammar. */
  test(text: string | Uint8Array): boolean {
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    let state = this.automaton.start;
    for (const byte of bytes) {
      state = this.automaton.step(state, byte);
      if (state === 0) return false;
      this.automaton.trim();
    }
    return this.automaton.isAccepting(state);
  }
}
