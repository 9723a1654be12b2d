import { copyFile, link, rename, rm, symlink } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { makeFolder } from '@quern/core';

/** Ways to have a blob under a second path, best first. Windows refuses links without developer mode; FAT has none. */
export interface Ways {
  symlink(target: string, path: string): Promise<void>;
  link(existing: string, path: string): Promise<void>;
  copyFile(from: string, to: string): Promise<void>;
}

const system: Ways = { symlink, link, copyFile };

/** Puts a blob at its place in a snapshot: as a symbolic link, a hard link, or a copy. What was there is replaced. */
export async function placeFile(blob: string, path: string, ways: Ways = system): Promise<void> {
  await makeFolder(dirname(path));
  const fresh = `${path}.${process.pid}.new`;
  await rm(fresh, { force: true });
  await ways
    .symlink(relative(dirname(path), blob), fresh)
    .catch(() => ways.link(blob, fresh))
    .catch(() => ways.copyFile(blob, fresh));
  await rename(fresh, path);
}
