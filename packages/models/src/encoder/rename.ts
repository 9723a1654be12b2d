import { mapTensors } from '../weights/map-tensors.js';
import type { WeightFile } from '../weights/weight-file.js';

/** Names of transformers' classes → BertModel's names: removes the prefix of classes with a head and of older files. */
export function bertName(name: string): string {
  return name
    .replace(/^(bert|roberta)\./, '')
    .replace(/^classifier\.dense\./, 'pooler.dense.')
    .replace(/^classifier\.out_proj\./, 'classifier.')
    .replace(/LayerNorm\.gamma$/, 'LayerNorm.weight')
    .replace(/LayerNorm\.beta$/, 'LayerNorm.bias');
}

/** BERT's tensors under the table's names. */
export const renameBert = (file: WeightFile): WeightFile =>
  file.naming === 'gguf' ? file : mapTensors(file, (tensor) => [{ ...tensor, name: bertName(tensor.name) }]);
