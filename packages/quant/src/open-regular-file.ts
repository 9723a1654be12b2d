import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { fileReason } from '@quern/core';
import { FileError } from './error.js';

/** An open file, and its size when opened. */
export interface Opened<T> {
  readonly file: T;
  readonly size: number;
}

/** Without O_NONBLOCK an open would wait for a pipe. Windows has neither. */
const forReading = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Opens a regular file for reading; the caller closes it. @throws FileError NOT_FOUND, NOT_A_FILE or READ_FAILED. */
export async function openRegularFile(path: string): Promise<Opened<FileHandle>> {
  const file = await open(path, forReading).catch((error: unknown) => {
    throw asFileError(path, error);
  });
  try {
    return { file, size: regularSize(path, await file.stat()) };
  } catch (error) {
    await file.close();
    throw asFileError(path, error);
  }
}

/** The same, synchronous, with a file descriptor. */
export function openRegularFileSync(path: string): Opened<number> {
  let file: number | undefined;
  try {
    file = openSync(path, forReading);
    return { file, size: regularSize(path, fstatSync(file)) };
  } catch (error) {
    if (file !== undefined) closeSync(file);
    throw asFileError(path, error);
  }
}

function regularSize(path: string, status: Stats): number {
  if (status.isFile()) return status.size;
  throw new FileError('NOT_A_FILE', path, `is ${kindOf(status)}; give a regular file`);
}

function kindOf(status: Stats): string {
  if (status.isDirectory()) return 'a folder';
  return status.isFIFO() ? 'a pipe' : 'a device';
}

/** A system error as a FileError with the file's name. */
export function asFileError(path: string, error: unknown): FileError {
  if (error instanceof FileError) return error;
  const cause = error as NodeJS.ErrnoException;
  if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')
    return new FileError('NOT_FOUND', path, 'there is no such file', { cause });
  if (cause.code === 'ENXIO') return new FileError('NOT_A_FILE', path, 'is a socket; give a regular file');
  return new FileError('READ_FAILED', path, `cannot be read: ${fileReason(cause)}`, { cause });
}
