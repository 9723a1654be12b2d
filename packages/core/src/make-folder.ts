import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** Tries of one folder: the one above may be made or removed by others between two calls. */
const maxTries = 5;

/**
 * Makes a folder, and those above it that are missing. Node's `mkdir` with `recursive` never returns where the system answers
 * ENOENT below a folder that exists, as /proc does. Rejects with the system's error.
 * @param mode permissions of new folders
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      await mkdir(path, { mode });
      return;
    } catch (error) {
      if (await isFolder(path)) return;
      const own = resolve(path);
      const above = dirname(own); // of a root: itself; Windows has roots that do not exist
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing || above === own || tries === maxTries) throw error;
      await makeFolder(above, mode);
    }
}
