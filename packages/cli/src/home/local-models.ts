import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A model that a command takes by this name. */
export interface FoundModel {
  readonly name: string;
  readonly bytes: number;
}

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
};

const sizeOf = (path: string): number => {
  try {
    const state = statSync(path);
    return state.isFile() ? state.size : 0;
  } catch {
    return 0;
  }
};

/** Whether a file begins as GGUF does. Only regular files are opened: a pipe would wait for its writer. */
function hasMagic(path: string): boolean {
  if (sizeOf(path) < magic.length) return false;
  const begun = Buffer.alloc(magic.length);
  try {
    const file = openSync(path, 'r');
    try {
      readSync(file, begun, 0, magic.length, 0);
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
  return begun.toString('latin1') === magic;
}

const magic = 'GGUF';

const later = /-(?!00001)\d{5}-of-\d{5}\.gguf$/;

/** GGUF files that are models: no projector, and of a split model its first file. */
const isModel = (name: string): boolean =>
  /\.gguf$/i.test(name) && !/mmproj/i.test(name) && !later.test(name);

/** Bytes of a GGUF file; of a split model, of all its files. */
function ggufBytes(folder: string, name: string, all: readonly string[]): number {
  const [, stem] = /^(.*)-00001-of-\d{5}\.gguf$/.exec(name) ?? [];
  const own = stem === undefined ? [name] : all.filter((each) => each.startsWith(`${stem}-`));
  return own.reduce((sum, each) => sum + sizeOf(join(folder, each)), 0);
}

/** Bytes of the weights of a folder as those of Hugging Face: config.json and safetensors; 0: it is none. */
function weightBytes(folder: string): number {
  const names = namesIn(folder);
  if (!names.includes('config.json')) return 0;
  const weights = names.filter((name) => name.endsWith('.safetensors'));
  return weights.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
}

/** The models in a folder: its GGUF files, itself, and the folders in it. */
export function localModels(folder: string): FoundModel[] {
  const names = namesIn(folder);
  const files = names
    .filter((name) => isModel(name) && hasMagic(join(folder, name)))
    .map((name) => ({ name: `./${name}`, bytes: ggufBytes(folder, name, names) }));
  const folders = ['.', ...names].map((name) => ({
    name: name === '.' ? name : `./${name}`,
    bytes: weightBytes(join(folder, name)),
  }));
  return [...files, ...folders].filter(({ bytes }) => bytes > 0);
}
