import { readdir, stat } from 'node:fs/promises';
import { ifThere, inCache } from './cache/cache-fault.js';
import { type Layout, layoutOf, repositoryOfFolder, snapshotPath } from './cache/layout.js';
import { cachedRefs, type SnapshotFile, snapshotCommits, snapshotFiles } from './cache/snapshot.js';
import { type GgufModel, ggufModels, isWhole, projectorOf } from './choose/gguf-models.js';
import { safetensorsFiles } from './choose/safetensors.js';
import { type HubName, type Selector, showName } from './name/parse-name.js';
import { assertHubOptions, type HubOptions } from './options.js';
import { settingsOf } from './settings.js';

/** Options of `list` and `remove`. */
export type CacheOptions = Pick<HubOptions, 'cacheDir' | 'env'>;

/** A model in the cache. */
export interface CachedModel {
  /** For `resolveModel`, `loadModel` and `remove`. */
  readonly name: string;
  readonly repository: string;
  readonly revision: string;
  readonly commit: string;
  readonly quantisation?: string;
  /** Of all its files; models of one repository may share some. */
  readonly bytes: number;
  /** Of its first file: the last access, as far as the file system keeps it. */
  readonly lastUsed: Date;
  /** The GGUF file, or the folder. */
  readonly path: string;
}

/** The whole GGUF and safetensors models in the cache, also those of other tools. No request. @throws HubError BAD_OPTION, CACHE_FAILED */
export async function list(options: CacheOptions = {}): Promise<CachedModel[]> {
  assertHubOptions('list', options);
  const { cacheDir } = settingsOf(options);
  return inCache(cacheDir, async () => {
    const found: CachedModel[] = [];
    for (const folder of ((await ifThere(() => readdir(cacheDir))) ?? []).sort()) {
      const repository = repositoryOfFolder(folder);
      if (repository !== undefined) found.push(...(await modelsOf(cacheDir, repository)));
    }
    return found;
  });
}

async function modelsOf(cacheDir: string, repository: string): Promise<CachedModel[]> {
  const layout = layoutOf(cacheDir, repository);
  const refs = [...(await cachedRefs(layout))];
  const found: CachedModel[] = [];
  for (const commit of await snapshotCommits(layout)) {
    const names = refs.filter(([, each]) => each === commit).map(([name]) => name);
    const revision = names.includes('main') ? 'main' : (names[0] ?? commit);
    const files = await snapshotFiles(layout, commit);
    for (const model of modelsIn(files))
      found.push(
        await described(layout, { repository, revision, selector: model.selector }, commit, model, files),
      );
  }
  return found;
}

interface Found {
  readonly selector: Selector;
  readonly paths: readonly string[];
  readonly quantisation?: string;
  readonly isFolder: boolean;
}

function modelsIn(files: readonly SnapshotFile[]): Found[] {
  const all = files.map(({ path }) => path);
  const models = ggufModels(all).filter(isWhole);
  const beside = projectorOf(all);
  const found = models.map((model) => foundModel(model, models, beside === undefined ? [] : [beside]));
  const folder = safetensorsFiles(all);
  if (folder.length > 0) found.push({ selector: { kind: 'default' }, paths: folder, isFolder: true });
  return found;
}

/** The name of a model has its quantisation, or its path where another model has the same. */
function foundModel(
  { quantisation, paths }: GgufModel,
  models: readonly GgufModel[],
  beside: readonly string[],
): Found {
  const isOnly = models.filter((each) => each.quantisation === quantisation).length === 1;
  const selector: Selector =
    quantisation !== undefined && isOnly
      ? { kind: 'quantisation', quantisation }
      : { kind: 'path', path: paths[0]! };
  return { selector, paths: [...paths, ...beside], ...(quantisation && { quantisation }), isFolder: false };
}

async function described(
  layout: Layout,
  name: HubName,
  commit: string,
  { paths, quantisation, isFolder }: Found,
  files: readonly SnapshotFile[],
): Promise<CachedModel> {
  const first = snapshotPath(layout, commit, paths[0]!);
  const { atimeMs, mtimeMs } = await stat(first);
  return {
    name: showName(name),
    repository: name.repository,
    revision: name.revision,
    commit,
    ...(quantisation !== undefined && { quantisation }),
    bytes: files.filter(({ path }) => paths.includes(path)).reduce((sum, { size }) => sum + size, 0),
    lastUsed: new Date(Math.max(atimeMs, mtimeMs)),
    path: isFolder ? snapshotPath(layout, commit) : first,
  };
}
