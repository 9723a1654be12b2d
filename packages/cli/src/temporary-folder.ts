import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemReason } from '@quern/core';

/** There is no place for temporary files. */
class TemporaryFolderError extends Error {
  readonly code = 'NO_TEMPORARY_FOLDER';
}

const variable = process.platform === 'win32' ? 'TEMP' : 'TMPDIR';

/** A new folder. @throws TemporaryFolderError */
function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'quern-'));
  } catch (cause) {
    const message = `no temporary folder can be made in ${tmpdir()}: ${systemReason(cause)}: set ${variable} to a folder that exists, may be written and has space for a model`;
    throw new TemporaryFolderError(message, { cause });
  }
}

/**
 * Calls `use` with a new folder; removes the folder at the end, also at an early process exit.
 * @throws TemporaryFolderError
 */
export async function inTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = makeFolder();
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  try {
    return await use(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}
