import { accessSync, constants, existsSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FileError } from '@quern/runtime';
import type { Command } from 'commander';
import { systemReason } from './system-reason.js';

/**
 * Ends the program if `path` is an existing file and --force is absent. A FIFO or a device is always written to.
 */
export function needFree(path: string, force: boolean | undefined, command: Command): void {
  if (!force && statSync(path, { throwIfNoEntry: false })?.isFile())
    command.error(`error: ${path} exists already: --force overwrites it`);
}

/** Ends the program if `path` does not exist and cannot be made: before long work, whose result it would lose. */
export function needFolder(path: string, command: Command): void {
  if (existsSync(path)) return;
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    command.error(`error: ${path} cannot be written: its folder: ${systemReason(error)}`);
  }
}

/** Writes a text to a file. @throws FileError WRITE_FAILED */
export function writeText(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw new FileError('WRITE_FAILED', path, `cannot be written: ${systemReason(cause)}`, { cause });
  }
}
