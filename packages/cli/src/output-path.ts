import { accessSync, constants, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemReason } from '@quern/core';
import { FileError } from '@quern/runtime';
import type { Command } from 'commander';
import { statOf } from './stat-of.js';

/**
 * Ends the program if `path` is an existing file and --force is absent. A FIFO or a device is always written to.
 */
export function needFree(path: string, force: boolean | undefined, command: Command): void {
  if (!force && statOf(path)?.isFile()) command.error(`error: ${path} exists already: --force overwrites it`);
}

/** Ends the program if `path` is a folder, or does not exist and cannot be made: before long work, whose result it would lose. */
export function needFolder(path: string, command: Command): void {
  const fault = faultOf(path);
  if (fault !== undefined) command.error(`error: ${path} cannot be written: ${fault}`);
}

/** Why no file can be written there; undefined: it can. */
function faultOf(path: string): string | undefined {
  try {
    const there = statOf(path);
    if (there) return there.isDirectory() ? 'it is a folder' : undefined;
    accessSync(`${dirname(path)}/.`, constants.W_OK); // `/.`: of a folder alone
    return undefined;
  } catch (error) {
    return `its folder: ${systemReason(error)}`;
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
