import type { Counter } from 'prom-client';
import type { Log } from '../options.js';

/** Most names that are logged and counted apart; clients choose them. Further ones are counted as 'other'. */
const maxNames = 100;
const maxLength = 64;

/** Counts the fields of requests that no route reads. Never their values. */
export class IgnoredFields {
  private readonly names = new Set<string>();

  constructor(
    private readonly counter: Pick<Counter<'field'>, 'inc'>,
    private readonly log: Log | undefined,
  ) {}

  /** A name is logged when it comes for the first time. */
  count(fields: readonly string[], id: string): void {
    const fresh: string[] = [];
    for (const field of fields) {
      const name = this.labelOf(field, fresh);
      this.counter.inc({ field: name });
    }
    if (fresh.length > 0) this.log?.({ time: new Date().toISOString(), id, ignoredFields: fresh });
  }

  private labelOf(field: string, fresh: string[]): string {
    const name = field.length > maxLength ? `${field.slice(0, maxLength)}…` : field;
    if (this.names.has(name)) return name;
    if (this.names.size === maxNames) return 'other';
    this.names.add(name);
    fresh.push(name);
    return name;
  }
}
