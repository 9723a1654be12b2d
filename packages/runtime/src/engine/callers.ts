import type { Lease } from './lease.js';

/** Who competes for the device and for blocks: the group of a call, or the call itself. */
const callerOf = (lease: Lease): unknown => lease.group ?? lease;

interface Holder {
  readonly lease: Lease;
}

/** Number of callers. */
export const callersOf = (members: readonly Holder[]): number =>
  new Set(members.map(({ lease }) => callerOf(lease))).size;

/** For each member, how many of the same caller stand before it. */
export function placesOf(members: readonly Holder[]): readonly number[] {
  const counts = new Map<unknown, number>();
  return members.map(({ lease }) => {
    const caller = callerOf(lease);
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

export function needsOf(members: readonly (Holder & { readonly decodes: boolean })[]): Needs {
  const needs = new Map<unknown, Need>();
  for (const { lease, decodes } of members) {
    const caller = callerOf(lease);
    const before = needs.get(caller) ?? { tokens: 0, decoding: 0, prompts: 0 };
    needs.set(caller, {
      tokens: before.tokens + lease.missing,
      decoding: before.decoding + Number(decodes),
      prompts: before.prompts + Number(!decodes),
    });
  }
  return needs;
}

/** A caller whose prompts need less than there is may take this part of it: they are done soon. */
const mostOfShort = 0.6;

/**
 * Divides tokens among callers, the fewest needs first: equal shares; up to `mostOfShort` for one whose prompts need less than there is.
 * What one does not need is for the others.
 */
export class Shares {
  private readonly left = new Map<unknown, number>();
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
      this.left.set(caller, share);
      rest -= share;
    }
  }

  of(lease: Lease): number {
    return this.left.get(callerOf(lease)) ?? 0;
  }

  /** Whether a caller has `count` tokens left, or has not got any yet. */
  allows(lease: Lease, count: number): boolean {
    return this.of(lease) >= count || !this.taken.has(callerOf(lease));
  }

  take(lease: Lease, count: number): void {
    const caller = callerOf(lease);
    this.taken.add(caller);
    this.left.set(caller, Math.max(0, this.of(lease) - count));
  }
}

/** For each member, how many other callers stand before it. */
export function callersBefore(members: readonly Holder[]): readonly number[] {
  const places = new Map<unknown, number>();
  return members.map(({ lease }) => {
    const caller = callerOf(lease);
    if (!places.has(caller)) places.set(caller, places.size);
    return places.get(caller)!;
  });
}

/**
 * Sets `turn` of each lease: how many of its caller go before it, those that hold blocks first, each in the order of the
 * calls.
 */
export function setTurns(holding: readonly Lease[], waiting: readonly Lease[]): void {
  const byOrder = (a: Lease, b: Lease) => a.order - b.order;
  const leases = [...[...holding].sort(byOrder), ...[...waiting].sort(byOrder)];
  const turns = placesOf(leases.map((lease) => ({ lease })));
  for (const [i, lease] of leases.entries()) lease.turn = turns[i]!;
}
