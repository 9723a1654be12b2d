import { mapTensors } from '../weights/map-tensors.js';
import type { WeightFile } from '../weights/weight-file.js';

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
