import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '@quern/core';
import { ifThere } from './cache-fault.js';
import { type Layout, refPath, snapshotPath } from './layout.js';

const isCommit = (text: string): boolean => /^[0-9a-f]{40}$/.test(text);

/** A file of a snapshot. */
export interface SnapshotFile {
  /** With '/' between its parts. */
  readonly path: string;
  readonly size: number;
}

/** The commit of a revision in the cache; undefined: the cache does not know the revision. */
export async function cachedCommit(layout: Layout, revision: string): Promise<string | undefined> {
  if (isCommit(revision)) return revision;
  const text = (await ifThere(() => readFile(refPath(layout, revision), 'utf8')))?.trim();
  return text !== undefined && isCommit(text) ? text : undefined;
}

/** Writes which commit a revision is, unless the revision is the commit. */
export async function writeRef(layout: Layout, revision: string, commit: string): Promise<void> {
  if (revision === commit) return;
  const path = refPath(layout, revision);
  await makeFolder(dirname(path));
  const fresh = `${path}.${process.pid}.new`;
  await writeFile(fresh, commit);
  await rename(fresh, path);
}

/** The files of a snapshot whose bytes are there. Links to missing blobs are left out. */
export async function snapshotFiles(layout: Layout, commit: string): Promise<SnapshotFile[]> {
  const files = await filesBelow(snapshotPath(layout, commit));
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function filesBelow(root: string, below = ''): Promise<SnapshotFile[]> {
  const found: SnapshotFile[] = [];
  for (const entry of (await ifThere(() => readdir(join(root, below), { withFileTypes: true }))) ?? []) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await filesBelow(root, path)));
    else {
      const file = await ifThere(() => stat(join(root, path)));
      if (file?.isFile()) found.push({ path, size: file.size });
    }
  }
  return found;
}

/** The commits of a repository that the cache has a snapshot of. */
export const snapshotCommits = async (layout: Layout): Promise<string[]> =>
  ((await ifThere(() => readdir(layout.snapshots))) ?? []).filter(isCommit).sort();

/** Each revision of the cache with its commit. */
export async function cachedRefs(layout: Layout): Promise<ReadonlyMap<string, string>> {
  const refs = new Map<string, string>();
  for (const { path } of await filesBelow(layout.refs)) {
    const commit = await cachedCommit(layout, path);
    if (commit !== undefined) refs.set(path, commit);
  }
  return refs;
}
