import { lstat, readdir, readlink, rm, rmdir } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { ifThere, inCache } from './cache/cache-fault.js';
import { type Layout, layoutOf, refPath, snapshotPath } from './cache/layout.js';
import { holderOf } from './cache/lock.js';
import { cachedCommit, cachedRefs, snapshotCommits, snapshotFiles } from './cache/snapshot.js';
import { chooseFiles } from './choose/choose-files.js';
import { ggufModels } from './choose/gguf-models.js';
import { HubError } from './error.js';
import type { CacheOptions } from './list.js';
import { type HubName, parseName, showName } from './name/parse-name.js';
import { assertHubOptions } from './options.js';
import { settingsOf } from './settings.js';

export interface RemoveOptions extends CacheOptions {
  /** True: nothing is removed; the result says what would be. Default: false. */
  readonly dryRun?: boolean | undefined;
}

export interface Removal {
  /** Paths of the repository, once for each snapshot that had them. */
  readonly files: readonly string[];
  /** Bytes of blobs that no other snapshot uses. */
  readonly bytes: number;
}

/** A file of a snapshot, and its blob. */
interface Entry {
  readonly commit: string;
  readonly path: string;
  readonly size: number;
  /** Undefined: the bytes lie in the snapshot itself. */
  readonly blob: string | undefined;
}

/**
 * Removes a model from the cache: with a quantisation or a path its files, else all files of the repository, or of the
 * revision. Blobs that another snapshot uses stay. No request.
 * @throws HubError NOT_CACHED, IN_USE, BAD_NAME, UNKNOWN_NAME, BAD_OPTION, CACHE_FAILED
 */
export async function remove(
  name: string,
  { dryRun = false, ...options }: RemoveOptions = {},
): Promise<Removal> {
  assertHubOptions('remove', options);
  const { cacheDir } = settingsOf(options);
  const wanted = parseName(name);
  const layout = layoutOf(cacheDir, wanted.repository);
  return inCache(layout.folder, async () => {
    const entries = await entriesOf(layout);
    const doomed = await doomedOf(layout, wanted, entries);
    const all = doomed.length === entries.length;
    if (!all && doomed.length === 0) throw notCached(wanted, cacheDir);
    if (all && (await ifThere(() => lstat(layout.folder))) === undefined) throw notCached(wanted, cacheDir);
    await assertUnused(layout, wanted);
    const kept = new Set(entries.filter((each) => !doomed.includes(each)).map(({ blob }) => blob));
    const removal = removalOf(doomed, kept);
    if (!dryRun) await (all ? removeAll(layout) : removeSome(layout, doomed, kept));
    return removal;
  });
}

const notCached = (wanted: HubName, cacheDir: string): HubError =>
  new HubError(
    'NOT_CACHED',
    `${showName(wanted)} is not in the cache ${cacheDir}: quern ls lists what is there`,
  );

async function entriesOf(layout: Layout): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const commit of await snapshotCommits(layout))
    for (const { path, size } of await snapshotFiles(layout, commit))
      entries.push({ commit, path, size, blob: await blobOf(layout, snapshotPath(layout, commit, path)) });
  return entries;
}

/** The blob that a link points to, if it is one of the repository. */
async function blobOf({ blobs }: Layout, path: string): Promise<string | undefined> {
  if (!(await lstat(path)).isSymbolicLink()) return undefined;
  const target = resolve(dirname(path), await readlink(path));
  return dirname(target) === resolve(blobs) ? target : undefined;
}

async function doomedOf(layout: Layout, wanted: HubName, entries: readonly Entry[]): Promise<Entry[]> {
  const { revision, selector } = wanted;
  const isNamed = revision !== 'main' || selector.kind !== 'default';
  const commit = await cachedCommit(layout, revision);
  const commits = new Set(isNamed && revision !== 'main' ? [commit] : entries.map((each) => each.commit));
  return [...commits].flatMap((each) =>
    ofSnapshot(
      entries.filter((entry) => entry.commit === each),
      wanted,
    ),
  );
}

/** The entries that the selector means. The projector goes with the last model. */
function ofSnapshot(entries: readonly Entry[], wanted: HubName): readonly Entry[] {
  if (wanted.selector.kind === 'default') return entries;
  const paths = entries.map(({ path }) => path);
  let chosen: readonly string[];
  try {
    const { paths: all, projector } = chooseFiles(paths, wanted);
    chosen = all.filter((path) => path !== projector);
  } catch {
    return []; // this snapshot does not have it
  }
  const rest = paths.filter((path) => !chosen.includes(path));
  return ggufModels(rest).length === 0 ? entries : entries.filter(({ path }) => chosen.includes(path));
}

/** @throws HubError IN_USE */
async function assertUnused({ locks }: Layout, wanted: HubName): Promise<void> {
  for (const name of (await ifThere(() => readdir(locks))) ?? []) {
    const holder = name.endsWith('.quern.lock') ? await holderOf(join(locks, name)) : undefined;
    if (holder)
      throw new HubError(
        'IN_USE',
        `process ${holder.pid} downloads into hf:${wanted.repository}: end it, or wait for it, before ${showName(wanted)} is removed`,
      );
  }
}

function removalOf(doomed: readonly Entry[], kept: ReadonlySet<string | undefined>): Removal {
  const blobs = new Map<string, number>();
  for (const { blob, size, commit, path } of doomed)
    if (blob === undefined || !kept.has(blob)) blobs.set(blob ?? `${commit}/${path}`, size);
  return {
    files: doomed.map(({ path }) => path),
    bytes: [...blobs.values()].reduce((sum, size) => sum + size, 0),
  };
}

async function removeAll({ folder, locks }: Layout): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await rm(locks, { recursive: true, force: true });
}

async function removeSome(
  layout: Layout,
  doomed: readonly Entry[],
  kept: ReadonlySet<string | undefined>,
): Promise<void> {
  for (const { commit, path, blob } of doomed) {
    const at = snapshotPath(layout, commit, path);
    await rm(at, { force: true });
    if (blob !== undefined && !kept.has(blob)) await rm(blob, { force: true });
    await removeEmpty(dirname(at), layout.snapshots);
  }
  const left = await snapshotCommits(layout);
  for (const [revision, commit] of await cachedRefs(layout))
    if (!left.includes(commit)) await rm(refPath(layout, revision), { force: true });
}

/** Removes empty folders, from `folder` up to below `root`. */
async function removeEmpty(folder: string, root: string): Promise<void> {
  for (let at = folder; isBelow(at, root); at = dirname(at))
    if (
      !(await rmdir(at).then(
        () => true,
        () => false,
      ))
    )
      return;
}

const isBelow = (path: string, root: string): boolean => {
  const way = relative(root, path);
  return way !== '' && way.split(sep)[0] !== '..';
};
