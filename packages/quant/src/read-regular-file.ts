import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { FileError } from './error.js';

/**
 * The text of a file, or undefined where there is none. A pipe, a device or a folder is refused rather than waited for, and
 * so is a file of more bytes than any of its kind has.
 *
 * @throws FileError READ_FAILED
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    const code = codeOf(cause);
    if (code === 'ENOENT') return undefined;
    throw new FileError('READ_FAILED', path, `cannot be read (${code ?? String(cause)})`, { cause });
  });
  if (!file) return undefined;
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new FileError('READ_FAILED', path, 'is not a regular file');
    if (status.size > maxBytes)
      throw new FileError('READ_FAILED', path, `has ${status.size} bytes; at most ${maxBytes} are read`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
