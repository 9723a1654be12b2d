import { basename, dirname, join } from 'node:path';
import { FileError } from '../error.js';
import { InputFile } from '../input-file.js';
import { tooDeepAt } from './json-depth.js';
import type { SafetensorsFile, SafetensorsTensor } from './safetensors-file.js';

const maxIndexBytes = 100_000_000;
const maxDepth = 8;

/**
 * Opens the model of an index: `weight_map` names the shard of each tensor.
 * @throws FileError BAD_SPLIT if the index and its shards contradict each other; NOT_FOUND if a shard is missing.
 */
export async function openIndex(
  path: string,
  openShard: (path: string) => Promise<SafetensorsFile>,
): Promise<SafetensorsFile> {
  const weightMap = await readWeightMap(path);
  const shards: SafetensorsFile[] = [];
  for (const shard of [...new Set(weightMap.values())].sort())
    shards.push(await openShard(join(dirname(path), shard)));
  const tensors = shards.flatMap((shard) => shard.tensors.filter((tensor) => belongs(tensor, weightMap)));
  checkComplete(path, weightMap, tensors);
  return { metadata: shards[0]!.metadata, tensors, paths: shards.flatMap((shard) => shard.paths) };
}

function belongs({ name, path }: SafetensorsTensor, weightMap: ReadonlyMap<string, string>): boolean {
  return weightMap.get(name) === basename(path);
}

function checkComplete(
  path: string,
  weightMap: ReadonlyMap<string, string>,
  tensors: readonly SafetensorsTensor[],
): void {
  const found = new Set(tensors.map((tensor) => tensor.name));
  for (const [name, shard] of weightMap) {
    if (found.has(name)) continue;
    throw new FileError(
      'BAD_SPLIT',
      path,
      `says that ${shard} holds tensor ${JSON.stringify(name.slice(0, 80))}, which it does not`,
    );
  }
}

async function readWeightMap(path: string): Promise<Map<string, string>> {
  const index = await readJson(path);
  const entries = Object.entries((index as { weight_map?: object } | null)?.weight_map ?? {});
  if (entries.length === 0) throw new FileError('BAD_SPLIT', path, 'has no weight_map');
  for (const [name, shard] of entries) {
    if (typeof shard === 'string' && shard.length > 0 && shard === basename(shard) && !shard.includes('\\'))
      continue;
    const shown = JSON.stringify(shard)?.slice(0, 80);
    throw new FileError(
      'BAD_SPLIT',
      path,
      `puts ${JSON.stringify(name.slice(0, 80))} in ${shown}, which is not the name of a file beside it`,
    );
  }
  return new Map(entries);
}

async function readJson(path: string): Promise<unknown> {
  const bytes = await readWhole(path);
  if (tooDeepAt(bytes, maxDepth) !== undefined) {
    throw new FileError('BAD_SPLIT', path, `nests more than ${maxDepth} deep`);
  }
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    const reason = (error as Error).message.slice(0, 200);
    throw new FileError('BAD_SPLIT', path, `is not JSON: ${reason}`, { cause: error });
  }
}

async function readWhole(path: string): Promise<Uint8Array> {
  const file = await InputFile.open(path);
  try {
    if (file.size > maxIndexBytes) {
      throw new FileError('TOO_LARGE', path, `has ${file.size} bytes; the limit is ${maxIndexBytes}`);
    }
    const bytes = new Uint8Array(file.size);
    await file.read(0, bytes);
    return bytes;
  } finally {
    await file.close();
  }
}
