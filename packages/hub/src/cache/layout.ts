import { join } from 'node:path';

/** Paths of one repository in the cache, in the layout of Hugging Face's tools. */
export interface Layout {
  /** models--owner--name */
  readonly folder: string;
  readonly blobs: string;
  readonly snapshots: string;
  readonly refs: string;
  /** Beside the repositories, as those of Python's huggingface_hub. */
  readonly locks: string;
}

export function layoutOf(cacheDir: string, repository: string): Layout {
  const name = folderName(repository);
  const folder = join(cacheDir, name);
  return {
    folder,
    blobs: join(folder, 'blobs'),
    snapshots: join(folder, 'snapshots'),
    refs: join(folder, 'refs'),
    locks: join(cacheDir, '.locks', name),
  };
}

const prefix = 'models--';

const folderName = (repository: string): string => prefix + repository.replace('/', '--');

/** 'owner/name' of a folder of the cache; undefined: it is none of a model with an owner. */
export function repositoryOfFolder(folder: string): string | undefined {
  const [, owner, name] = /^models--([\w.-]+?)--([\w.-]+)$/.exec(folder) ?? [];
  return owner !== undefined ? `${owner}/${name}` : undefined;
}

export const blobPath = ({ blobs }: Layout, hash: string): string => join(blobs, hash);

/** The first bytes of a blob. It has no holes, so other tools may append to it. */
export const incompletePath = (layout: Layout, hash: string): string =>
  `${blobPath(layout, hash)}.incomplete`;

/** `path`: checked, with '/' between its parts. */
export const snapshotPath = ({ snapshots }: Layout, commit: string, path = ''): string =>
  join(snapshots, commit, ...path.split('/'));

export const refPath = ({ refs }: Layout, revision: string): string => join(refs, ...revision.split('/'));
