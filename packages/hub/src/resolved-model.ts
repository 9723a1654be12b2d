import { dirname } from 'node:path';
import { type Layout, snapshotPath } from './cache/layout.js';
import type { SnapshotFile } from './cache/snapshot.js';
import type { Choice } from './choose/choose-files.js';
import type { HubName } from './name/parse-name.js';

/** A model whose files are in the cache. */
export interface ResolvedModel {
  /** For `loadModel`: the GGUF file (the first of a split), or the folder of a safetensors model. */
  readonly path: string;
  /** 'owner/name' */
  readonly repository: string;
  readonly revision: string;
  readonly commit: string;
  /** 'Q4_K_M'; absent for safetensors and where the file's name has none. */
  readonly quantisation?: string;
  /** Path of the projector for images or sound, if the repository has one. */
  readonly mmproj?: string;
  /** All files, with their paths in the repository. */
  readonly files: readonly { readonly name: string; readonly path: string; readonly bytes: number }[];
  /** Bytes of all files. */
  readonly bytes: number;
}

export function resolvedModel(
  layout: Layout,
  { repository, revision }: HubName,
  commit: string,
  { kind, main, quantisation, projector }: Choice,
  files: readonly SnapshotFile[],
): ResolvedModel {
  const at = (path: string) => snapshotPath(layout, commit, path);
  return {
    path: kind === 'safetensors' ? dirname(at(main)) : at(main),
    repository,
    revision,
    commit,
    ...(quantisation !== undefined && { quantisation }),
    ...(projector !== undefined && { mmproj: at(projector) }),
    files: files.map(({ path, size }) => ({ name: path, path: at(path), bytes: size })),
    bytes: files.reduce((sum, { size }) => sum + size, 0),
  };
}
