import type { Entry } from './entry.js';

/** What a pool may hold at a time. */
export interface Limits {
  readonly memoryBytes: number;
  readonly maxModels: number;
}

/** Milliseconds without a request after which a model in its turn makes way for others. */
export const lingerMs = 200;

const sum = (entries: readonly Entry[]): number => entries.reduce((total, { bytes }) => total + bytes, 0);

/** A model whose memory is taken: loaded, loading, or not yet freed. */
const isResident = (entry: Entry): boolean => entry.bytes > 0 || entry.model !== undefined;

/** Whether `bytes` more fit beside the models that are there, once `gone` are not. */
export function fits(entries: readonly Entry[], bytes: number, limits: Limits, gone: readonly Entry[] = []) {
  const staying = entries.filter((each) => isResident(each) && !gone.includes(each));
  return staying.length < limits.maxModels && sum(staying) + bytes <= limits.memoryBytes;
}

/**
 * The models that make way for `bytes` more; undefined where even all of them are too few. Unused ones go first, the
 * least recently used of them before the others; then those that have been loaded for the longest time. The order does not
 * change with the requests that come to models in use, so that one of them does end.
 */
export function victims(entries: readonly Entry[], bytes: number, limits: Limits): Entry[] | undefined {
  const movable = entries.filter(({ state, pinned }) => state === 'loaded' && !pinned);
  const idle = movable.filter(({ isIdle }) => isIdle).sort((a, b) => a.lastUsed - b.lastUsed);
  const busy = movable.filter(({ isIdle }) => !isIdle).sort((a, b) => a.loadedAt - b.loadedAt);
  const gone: Entry[] = [];
  for (const each of [...idle, ...busy]) {
    if (fits(entries, bytes, limits, gone)) return withoutSpare(entries, bytes, limits, gone);
    gone.push(each);
  }
  return fits(entries, bytes, limits, gone) ? withoutSpare(entries, bytes, limits, gone) : undefined;
}

/** Without those that may stay since a later one is large. */
function withoutSpare(entries: readonly Entry[], bytes: number, limits: Limits, gone: readonly Entry[]) {
  let needed = [...gone];
  for (const each of gone) {
    const fewer = needed.filter((other) => other !== each);
    if (fits(entries, bytes, limits, fewer)) needed = fewer;
  }
  return needed;
}

/** When a model may make way; Infinity: while requests use it. */
export function freeFrom({ isIdle, lastUsed, turnEnds }: Entry): number {
  return isIdle ? Math.min(lastUsed + lingerMs, turnEnds) : Number.POSITIVE_INFINITY;
}
