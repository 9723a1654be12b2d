import { statSync } from 'node:fs';
import type { Command } from 'commander';

/**
 * Ends the program if `path` is an existing file and --force is absent. A FIFO or a device is always written to.
 */
export function needFree(path: string, force: boolean | undefined, command: Command): void {
  if (!force && statSync(path, { throwIfNoEntry: false })?.isFile())
    command.error(`error: ${path} exists already: --force overwrites it`);
}
