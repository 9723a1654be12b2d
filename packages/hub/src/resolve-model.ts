import { readFile } from 'node:fs/promises';
import { ifThere, inCache } from './cache/cache-fault.js';
import { type Layout, layoutOf, snapshotPath } from './cache/layout.js';
import { cachedCommit, type SnapshotFile, snapshotFiles } from './cache/snapshot.js';
import { type Choice, chooseFiles } from './choose/choose-files.js';
import { indexName } from './choose/safetensors.js';
import { assertNotAborted, HubError } from './error.js';
import { nameWith } from './name/name-with.js';
import { type HubName, showName } from './name/parse-name.js';
import { assertHubOptions, type HubOptions } from './options.js';
import { pull } from './pull.js';
import { type ResolvedModel, resolvedModel } from './resolved-model.js';
import { settingsOf } from './settings.js';

/**
 * The files of a model: from the cache, without any request, where they are there; else by `pull`. A model in the cache
 * stays as it is until `pull` brings the revision's present files.
 * @param name `hf:owner/name[@revision][:QUANT | :path/to/file.gguf]`, or a short name ('qwen3:0.6b')
 * @throws HubError NOT_CACHED where `offline` is set and the model is not in the cache; those of `pull`
 */
export async function resolveModel(name: string, options: HubOptions = {}): Promise<ResolvedModel> {
  assertHubOptions('resolveModel', options);
  const { cacheDir, offline, signal } = settingsOf(options);
  const wanted = nameWith(name, options.revision);
  assertNotAborted(signal);
  const layout = layoutOf(cacheDir, wanted.repository);
  const cached = await inCache(layout.folder, () => resolveCached(layout, wanted));
  if (typeof cached === 'object') return cached;
  if (!offline) return pull(name, options);
  throw new HubError(
    'NOT_CACHED',
    `${showName(wanted)} is not in the cache ${cacheDir} (${cached}), and requests are off (--offline, offline: true or HF_HUB_OFFLINE): run quern pull ${showName(wanted)} while online`,
  );
}

/** The model, or the reason why the cache does not have it. */
async function resolveCached(layout: Layout, wanted: HubName): Promise<ResolvedModel | string> {
  const commit = await cachedCommit(layout, wanted.revision);
  if (commit === undefined) return `it has no revision ${wanted.revision} of hf:${wanted.repository}`;
  const files = await snapshotFiles(layout, commit);
  const choice = chosen(files, wanted);
  if (typeof choice === 'string') return choice;
  const missing = await missingShards(layout, commit, choice, files);
  if (missing.length > 0) return `it lacks ${missing.slice(0, 3).join(', ')} of hf:${wanted.repository}`;
  const own = files.filter(({ path }) => choice.paths.includes(path));
  return resolvedModel(layout, wanted, commit, choice, own);
}

function chosen(files: readonly SnapshotFile[], wanted: HubName): Choice | string {
  try {
    return chooseFiles(
      files.map(({ path }) => path),
      wanted,
    );
  } catch (error) {
    if (error instanceof HubError) return error.message;
    throw error;
  }
}

/** Names of weights that the index of a safetensors folder has, and the folder has not. */
async function missingShards(
  layout: Layout,
  commit: string,
  { kind }: Choice,
  files: readonly SnapshotFile[],
): Promise<string[]> {
  const text =
    kind === 'safetensors' &&
    (await ifThere(() => readFile(snapshotPath(layout, commit, indexName), 'utf8')));
  if (!text) return [];
  const { weight_map: map } = JSON.parse(text) as { weight_map?: Record<string, string> };
  const there = new Set(files.map(({ path }) => path));
  return [...new Set(Object.values(map ?? {}))].filter((path) => !there.has(path));
}
