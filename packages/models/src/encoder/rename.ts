import type { FileTensor, WeightFile } from '../weights/weight-file.js';

/** The file with every tensor renamed, or replaced by several. */
export function mapTensors(file: WeightFile, map: (tensor: FileTensor) => readonly FileTensor[]): WeightFile {
  const tensors = [...file.tensors.values()].flatMap((tensor) => map(tensor));
  return { ...file, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

/** Names of transformers' classes as BertModel has them: without the prefix of a class with a head, or of older files. */
export function bertName(name: string): string {
  return name
    .replace(/^(bert|roberta)\./, '')
    .replace(/^classifier\.dense\./, 'pooler.dense.')
    .replace(/^classifier\.out_proj\./, 'classifier.')
    .replace(/LayerNorm\.gamma$/, 'LayerNorm.weight')
    .replace(/LayerNorm\.beta$/, 'LayerNorm.bias');
}

/** BERT's tensors by the names of its table. */
export const renameBert = (file: WeightFile): WeightFile =>
  file.naming === 'gguf' ? file : mapTensors(file, (tensor) => [{ ...tensor, name: bertName(tensor.name) }]);

/** A matrix [n · N, K] of `names.length` matrices on top of each other, apart; as it is where it cannot be cut, or where its values depend on more than its bytes. */
export function cutRows(tensor: FileTensor, names: readonly string[]): readonly FileTensor[] {
  const [rows = 0, ...rest] = tensor.shape;
  const { path, offset, byteLength } = tensor.bytes;
  const count = names.length;
  if (tensor.quantised || rows % count !== 0 || byteLength % count !== 0) return [tensor];
  const part = byteLength / count;
  return names.map((name, i) => ({
    ...tensor,
    name,
    shape: [rows / count, ...rest],
    bytes: { path, offset: offset + i * part, byteLength: part },
  }));
}
