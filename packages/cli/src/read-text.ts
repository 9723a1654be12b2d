import { FileError, readRegularFile } from '@quern/runtime';

const mostBytes = 2 ** 29 - 2 ** 16; // the longest string

/** The text of a file. Rejects with FileError NOT_FOUND, NOT_A_FILE, READ_FAILED. */
export async function readText(path: string): Promise<string> {
  const text = await readRegularFile(path, mostBytes);
  if (text === undefined) throw new FileError('NOT_FOUND', path, 'there is no such file');
  return text;
}
