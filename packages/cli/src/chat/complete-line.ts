import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { commandNames } from './line.js';

/** Commands that take a file. */
const withFile = /^\/(?:save|load)\s+(?:--force\s+)?(.*)$/s;

/** Entries of the folder of a half-typed path that go on with it; folders end with a slash. */
function paths(typed: string): string[] {
  const folder = typed.endsWith('/') || typed === '' ? typed : dirname(typed);
  const shown = typed.includes('/') ? join(folder, '/') : '';
  try {
    return readdirSync(folder || '.', { withFileTypes: true })
      .map((entry) => shown + entry.name + (entry.isDirectory() ? '/' : ''))
      .filter((path) => path.startsWith(typed));
  } catch {
    return [];
  }
}

/** What the Tab key offers in a chat, as node:readline takes it: the command, or the file of one. */
export function completeLine(line: string): [offers: string[], typed: string] {
  const file = withFile.exec(line)?.[1];
  if (file !== undefined) return [paths(file), file];
  if (!/^\/\S*$/.test(line)) return [[], line];
  return [commandNames.filter((name) => name.startsWith(line)), line];
}
