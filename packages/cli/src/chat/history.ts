import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '@quern/core';

/** Bounds of the file: the newest lines stay. */
const [mostLines, mostLength] = [1000, 4096];

/** Only the user may read what was typed. */
const mode = 0o600;

/** Lines that were typed in chats, the oldest first. */
export class History {
  private constructor(
    private readonly path: string,
    readonly lines: readonly string[],
    private readonly onFault: (error: Error) => void,
  ) {}

  /**
   * Reads the file, and shortens it to its bounds.
   * @param path '': there is no file
   * @param onFault called once, where the file cannot be read or written; the chat goes on without it
   */
  static async open(path: string, onFault: (error: Error) => void): Promise<History> {
    if (path === '') return new History('', [], onFault);
    try {
      const all = (await readIfThere(path)).split('\n').filter((line) => line !== '');
      const lines = all.slice(-mostLines);
      if (lines.length < all.length) await replace(path, lines);
      return new History(path, lines, onFault);
    } catch (error) {
      onFault(error as Error);
      return new History('', [], onFault);
    }
  }

  /** Adds a line; a very long one is not kept. */
  async add(line: string): Promise<void> {
    if (this.path === '' || line === '' || line.length > mostLength || this.failed) return;
    try {
      await makeFolder(dirname(this.path), 0o700);
      await appendFile(this.path, `${line}\n`, { mode });
    } catch (error) {
      this.failed = true;
      this.onFault(error as Error);
    }
  }

  private failed = false;
}

const readIfThere = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });

async function replace(path: string, lines: readonly string[]): Promise<void> {
  const next = `${path}.${process.pid}`;
  await writeFile(next, `${lines.join('\n')}\n`, { mode });
  await rename(next, path);
}
