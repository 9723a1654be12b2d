import type { Architecture } from '../architecture.js';
import type { ModelFile } from '../model-file.js';
import type { FileTensor } from '../weights/file-tensor.js';
import { renamed } from '../weights/rename.js';
import type { StoredAdapter, StoredPair } from './stored-adapter.js';

/**
 * The adapter with the names that the architecture's `rename` gives to its matrices, as to those of the model's own
 * files. A matrix that `rename` splits keeps its name.
 */
export function underTableNames(stored: StoredAdapter, { architecture }: ModelFile): StoredAdapter {
  if (stored.naming !== 'huggingFace' || !architecture.rename) return stored;
  const pairs = Array.from(stored.pairs, ([matrix, pair]) => {
    return [newName(architecture, stored.path, matrix, pair), pair] as const;
  });
  return { ...stored, pairs: new Map(pairs) };
}

function newName(architecture: Architecture, path: string, matrix: string, { a, b }: StoredPair): string {
  const [N, K] = [b.shape[0]!, a.shape[1]!];
  const bytes = { path, offset: 0, byteLength: 4 * N * K };
  const tensor: FileTensor = { name: matrix, shape: [N, K], format: 'f32', bytes };
  const file = { naming: 'huggingFace', paths: [path], tensors: new Map([[matrix, tensor]]) } as const;
  const [name = matrix, ...others] = renamed(architecture, file).tensors.keys();
  return others.length === 0 ? name : matrix;
}
