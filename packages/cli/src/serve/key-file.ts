import { readFileSync } from 'node:fs';

/** Why a file cannot be read, without anything of its content. */
function reason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'ENOENT') return 'there is no such file';
  return `the file cannot be read (${code})`;
}

/**
 * The keys in a file: one per line; empty lines and lines that begin with # are skipped.
 * @param fail receives the fault: no word of the file is in it
 */
export function keysIn(path: string, fail: (fault: string) => never): string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return fail(reason(error));
  }
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return keys.length > 0 ? keys : fail('the file has no key: no client could send one');
}
