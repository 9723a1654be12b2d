import { GrammarError } from '../error.js';
import type { Work } from '../turns.js';
import { formatPattern } from './formats.js';
import { isObject, membersOf } from './json.js';
import type { Strings } from './strings.js';

const PART = 32; // objects: a fraction of a millisecond

/** Learns the patterns of a schema in parts, so that whoever meets them there finds them known. Faults wait until then. */
export function* learnPatterns(strings: Strings, schema: unknown): Work<void> {
  const open: unknown[] = typeof schema === 'object' && schema !== null ? [schema] : [];
  const seen = new Set<unknown>();
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    if (seen.size % PART === 0) yield;
    if (isObject(at)) for (const source of patternsOf(at)) yield* learn(strings, source);
    let count = 0;
    for (const value of Array.isArray(at) ? at : valuesOf(at as object)) {
      if (typeof value === 'object' && value !== null) open.push(value);
      if (++count % PART === 0) yield;
    }
  }
}

function* valuesOf(object: object): Generator<unknown> {
  for (const [, value] of membersOf(object)) yield value;
}

function* patternsOf({
  pattern,
  patternProperties,
  format,
}: Readonly<Record<string, unknown>>): Generator<string> {
  if (typeof pattern === 'string') yield pattern;
  if (isObject(patternProperties)) yield* Object.keys(patternProperties);
  const formatted = typeof format === 'string' ? formatPattern(format) : undefined;
  if (formatted !== undefined) yield formatted;
}

function* learn(strings: Strings, source: string): Work<void> {
  try {
    yield* strings.match(source);
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
  }
}
