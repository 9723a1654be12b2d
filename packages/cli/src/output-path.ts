import { statSync } from 'node:fs';
import type { Command } from 'commander';

/**
 * Ends the program where a file would be lost that nobody said to overwrite. A FIFO or a device loses nothing: it is written to.
 */
export function needFree(path: string, force: boolean | undefined, command: Command): void {
  if (!force && statSync(path, { throwIfNoEntry: false })?.isFile())
    command.error(`error: ${path} exists already: --force overwrites it`);
}
