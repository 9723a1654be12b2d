import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { checkArgument, rules } from '@quern/core';
import { badArgument, ModelError } from './error.js';

/** The files of a model. */
export type ModelLocation =
  | { readonly kind: 'gguf'; readonly path: string }
  | { readonly kind: 'huggingFace'; readonly weights: string; readonly config: string };

/**
 * The model at a path: a GGUF file (or one part), a safetensors file or index beside its config.json, the config.json
 * itself, or a folder with one of these.
 * @param config configuration file of a safetensors model, if not config.json
 * @throws ModelError NOT_FOUND, NO_MODEL, AMBIGUOUS_MODEL or BAD_ARGUMENT.
 */
export async function findModel(path: string, config?: string): Promise<ModelLocation> {
  checkArgument('openModel', 'path', path, rules.path, badArgument);
  const status = await stat(path).catch(() => undefined);
  if (!status) throw new ModelError('NOT_FOUND', `${path}: there is no such file or folder`);
  if (status.isDirectory()) return inFolder(path, config);
  if (basename(path) === 'config.json') return inFolder(dirname(path), path);
  if (!/\.safetensors(\.index\.json)?$/.test(path)) return { kind: 'gguf', path };
  return { kind: 'huggingFace', weights: await wholeOf(path), config: await configFor(path, config) };
}

async function inFolder(folder: string, config: string | undefined): Promise<ModelLocation> {
  const names = (await readdir(folder)).sort();
  const safetensors = safetensorsIn(names);
  if (safetensors.length > 0 && (config || names.includes('config.json'))) {
    const weights = join(folder, only(folder, safetensors));
    return { kind: 'huggingFace', weights, config: config ?? join(folder, 'config.json') };
  }
  const ggufs = names.filter((name) => name.endsWith('.gguf') && !isLaterPart(name));
  if (ggufs.length > 0) return { kind: 'gguf', path: join(folder, only(folder, ggufs)) };
  throw new ModelError(
    'NO_MODEL',
    `${folder}: holds no model; looked for config.json beside a .safetensors file or model.safetensors.index.json, and for one .gguf file`,
  );
}

/** An index replaces its shards; the usual name is preferred. */
function safetensorsIn(names: readonly string[]): readonly string[] {
  const usual = ['model.safetensors.index.json', 'model.safetensors'].find((name) => names.includes(name));
  if (usual) return [usual];
  const indexes = names.filter((name) => name.endsWith('.safetensors.index.json'));
  return indexes.length > 0 ? indexes : names.filter((name) => name.endsWith('.safetensors'));
}

const isLaterPart = (name: string): boolean =>
  /-\d{5}-of-\d{5}\.gguf$/.test(name) && !/-00001-of-\d{5}\.gguf$/.test(name);

function only(folder: string, names: readonly string[]): string {
  if (names.length === 1) return names[0]!;
  throw new ModelError(
    'AMBIGUOUS_MODEL',
    `${folder}: holds ${names.length} models; name one: ${names.join(', ')}`,
  );
}

/** A shard's model is the one of its index. */
async function wholeOf(path: string): Promise<string> {
  const index = path.replace(/-\d{5}-of-\d{5}\.safetensors$/, '.safetensors.index.json');
  return index !== path && (await exists(index)) ? index : path;
}

async function configFor(path: string, given: string | undefined): Promise<string> {
  const config = given ?? join(dirname(path), 'config.json');
  if (await exists(config)) return config;
  throw new ModelError('NO_MODEL', `${path}: needs its configuration beside it; there is no ${config}`);
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
