import type { Sequence } from './sequence.js';

/** Who competes for the device and for blocks: the group of a sequence, or the sequence itself. */
const callerOf = (sequence: Sequence): unknown => sequence.group ?? sequence;

/** Number of callers. */
export const callersOf = (sequences: readonly Sequence[]): number => new Set(sequences.map(callerOf)).size;

/** For each sequence, how many of the same caller stand before it. */
export function ranksOf(sequences: readonly Sequence[]): readonly number[] {
  const counts = new Map<unknown, number>();
  return sequences.map((sequence) => {
    const caller = callerOf(sequence);
    const place = counts.get(caller) ?? 0;
    counts.set(caller, place + 1);
    return place;
  });
}

/** What a caller needs now. */
export interface Need {
  /** Tokens to compute. */
  readonly tokens: number;
  /** Texts that decode: after these tokens come others. */
  readonly decoding: number;
  /** Texts with prompts. */
  readonly prompts: number;
}

/** What each caller needs. */
export type Needs = ReadonlyMap<unknown, Need>;

export function needsOf(sequences: readonly Sequence[]): Needs {
  const needs = new Map<unknown, Need>();
  for (const sequence of sequences) {
    const { missing, decodes } = sequence;
    const caller = callerOf(sequence);
    const before = needs.get(caller) ?? { tokens: 0, decoding: 0, prompts: 0 };
    needs.set(caller, {
      tokens: before.tokens + missing,
      decoding: before.decoding + Number(decodes),
      prompts: before.prompts + Number(!decodes),
    });
  }
  return needs;
}

/** A caller whose prompts need less than there is may take this fraction of it: they are done soon. */
const mostOfShort = 0.6;

/**
 * Divides tokens among callers, the fewest needs first: equal shares; up to `mostOfShort` for one whose prompts need less than there is.
 * What one does not need is for the others.
 */
export class Shares {
  private readonly shares = new Map<unknown, number>();
  private readonly taken = new Set<unknown>();

  constructor(needs: Needs, total: number) {
    const byNeed = [...needs].sort(([, a], [, b]) => a.tokens - b.tokens);
    let rest = total;
    for (const [i, [caller, { tokens, decoding }]] of byNeed.entries()) {
      const others = byNeed.length - i - 1;
      const equal = Math.ceil(rest / (others + 1));
      const isShort = tokens <= total && decoding === 0 && others > 0;
      const most = isShort ? Math.max(equal, Math.floor(mostOfShort * rest)) : equal;
      const share = Math.min(tokens, most);
      this.shares.set(caller, share);
      rest -= share;
    }
  }

  /** Tokens that nobody has taken. */
  get left(): number {
    return [...this.shares.values()].reduce((sum, share) => sum + share, 0);
  }

  of(sequence: Sequence): number {
    return this.shares.get(callerOf(sequence)) ?? 0;
  }

  /** Whether a caller has `count` tokens left, or has not got any yet. */
  allows(sequence: Sequence, count: number): boolean {
    return this.of(sequence) >= count || !this.taken.has(callerOf(sequence));
  }

  take(sequence: Sequence, count: number): void {
    const caller = callerOf(sequence);
    this.taken.add(caller);
    this.shares.set(caller, Math.max(0, this.of(sequence) - count));
  }
}

/** For each sequence, how many other callers stand before it. */
export function callersBefore(sequences: readonly Sequence[]): readonly number[] {
  const places = new Map<unknown, number>();
  return sequences.map((sequence) => {
    const caller = callerOf(sequence);
    if (!places.has(caller)) places.set(caller, places.size);
    return places.get(caller)!;
  });
}

/**
 * Sets `turn` of each sequence: how many of its caller go before it, those that hold blocks first, each in the order of
 * arrival.
 */
export function setTurns(holding: readonly Sequence[], waiting: readonly Sequence[]): void {
  const byOrder = (a: Sequence, b: Sequence) => a.order - b.order;
  const sequences = [...[...holding].sort(byOrder), ...[...waiting].sort(byOrder)];
  const turns = ranksOf(sequences);
  for (const [i, sequence] of sequences.entries()) sequence.turn = turns[i]!;
}
