import { type Stats, statSync } from 'node:fs';

/** What is there; undefined: nothing, or nothing that this process sees. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Whether a folder is there. */
export const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true;
