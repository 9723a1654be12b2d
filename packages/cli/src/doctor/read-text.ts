import { readFileSync } from 'node:fs';

/** A small text file; undefined: it is not there, or not ours to read. */
export function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
