import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/**
 * Makes a folder, and those above it that are missing. Node's `mkdir` with `recursive` never returns where the system answers
 * ENOENT below a folder that exists, as /proc does. Rejects with the system's error.
 * @param mode permissions of new folders
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (await isFolder(path)) return;
    const above = dirname(resolve(path));
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || (await isFolder(above))) throw error;
    await makeFolder(above, mode);
    await makeFolder(path, mode);
  }
}
