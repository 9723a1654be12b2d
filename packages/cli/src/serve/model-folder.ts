import { type Dirent, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isFolder } from '../stat-of.js';

/** Folders of folders that are searched: `owner/name/model.gguf` is found from above `owner`. */
const maxDepth = 3;

const part = /-(\d{5})-of-\d{5}\.gguf$/i;

/** A GGUF file with a model: the first file of a split one, no projector for images or sound. */
const isModelFile = ({ name }: Dirent): boolean =>
  /\.gguf$/i.test(name) && !/^mmproj/i.test(name) && (part.exec(name)?.[1] ?? '00001') === '00001';

/** The names of a folder, in order; none where it may not be read. */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** Paths of the models under a folder: GGUF files, and folders with config.json and safetensors. */
export function modelsUnder(folder: string, depth = maxDepth): readonly string[] {
  const entries = entriesOf(folder);
  const has = (name: RegExp) => entries.some((each) => name.test(each.name));
  if (has(/^config\.json$/) && has(/\.safetensors$/)) return [folder];
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (isModelFile(entry)) return isFolder(path) ? [] : [path];
    return depth > 0 && !entry.name.startsWith('.') && isFolder(path) ? modelsUnder(path, depth - 1) : [];
  });
}

/** The models of a folder of models; undefined for the path of one model, and for what has none. */
export function folderModels(path: string): readonly string[] | undefined {
  if (!isFolder(path)) return undefined;
  const found = modelsUnder(path);
  const own = resolve(path);
  const isModel = found.every((each) => [each, dirname(each)].some((place) => resolve(place) === own));
  return isModel && found.length < 2 ? undefined : found;
}
