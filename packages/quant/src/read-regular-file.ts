import { FileError } from './error.js';
import { openRegularFile } from './open-regular-file.js';

/**
 * The text of a file, or undefined if there is none. Refuses a pipe, device or folder instead of waiting, and a file of
 * more than `maxBytes` bytes.
 *
 * @throws FileError NOT_A_FILE or READ_FAILED
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<string | undefined> {
  const opened = await openRegularFile(path).catch((error: FileError) => {
    if (error.code === 'NOT_FOUND') return undefined;
    throw error;
  });
  if (!opened) return undefined;
  const { file, size } = opened;
  try {
    if (size > maxBytes)
      throw new FileError('READ_FAILED', path, `has ${size} bytes; at most ${maxBytes} are read`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
