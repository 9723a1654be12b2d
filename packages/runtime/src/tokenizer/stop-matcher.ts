import { checkArgument, rules } from '@quern/core';
import { badArgument, TokenizerError } from './error.js';

/** Text to show now, and the stop string that ended the text, if one did. */
export interface StopResult {
  text: string;
  stopped?: string;
}

/**
 * Ends a stream of text at the first complete stop string; of two that end together, at the longer one. Holds back only
 * a possible start of a stop string. The result does not depend on how the text was divided.
 */
export class StopMatcher {
  private readonly longest: number;
  private held = '';
  private stopped: string | undefined;

  /** @throws TokenizerError BAD_STOP for an empty stop string, BAD_ARGUMENT */
  constructor(private readonly stops: readonly string[]) {
    checkArgument('StopMatcher', 'stops', stops, rules.texts, badArgument);
    if (stops.includes('')) {
      throw new TokenizerError(
        'BAD_STOP',
        'a stop string is empty: it would end the text before it begins; leave it out',
      );
    }
    this.longest = Math.max(0, ...stops.map((stop) => stop.length));
  }

  /** Returns no text after the end. */
  push(text: string): StopResult {
    if (this.stopped !== undefined) return { text: '', stopped: this.stopped };
    const all = this.held + text;
    const match = this.firstMatch(all);
    if (match) return this.stop(match.stop, all.slice(0, match.start));
    const safe = all.length - this.pending(all);
    this.held = all.slice(safe);
    return { text: all.slice(0, safe) };
  }

  /** Ends the text; returns the text held back. */
  flush(): string {
    const rest = this.held;
    this.held = '';
    return rest;
  }

  private stop(stop: string, text: string): StopResult {
    this.stopped = stop;
    this.held = '';
    return { text, stopped: stop };
  }

  private firstMatch(text: string): { start: number; stop: string } | undefined {
    let best: { start: number; stop: string } | undefined;
    const end = (match: { start: number; stop: string }) => match.start + match.stop.length;
    for (const stop of this.stops) {
      const match = { start: text.indexOf(stop), stop };
      if (match.start < 0) continue;
      const difference = best ? end(match) - end(best) : -1;
      if (!best || difference < 0 || (difference === 0 && match.start < best.start)) best = match;
    }
    return best;
  }

  /** Length of the longest suffix of `text` that is a prefix of a stop string. */
  private pending(text: string): number {
    for (let length = Math.min(this.longest - 1, text.length); length > 0; length--) {
      const tail = text.slice(-length);
      if (this.stops.some((stop) => stop.startsWith(tail))) return length;
    }
    return 0;
  }
}
