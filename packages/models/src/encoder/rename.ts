import type { FileTensor } from '../weights/file-tensor.js';
import { cutRows, mapTensors } from '../weights/map-tensors.js';
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
  mapTensors(file, (tensor) =>
    file.naming === 'gguf' ? ggufParts(tensor) : [{ ...tensor, name: bertName(tensor.name) }],
  );

/** The parameters in a tensor of an encoder's GGUF file: q, k and v may be one; a table with one row may be a vector. */
export function ggufParts(tensor: FileTensor): readonly FileTensor[] {
  const { name, shape } = tensor;
  const fused = /^(blk\.\d+\.attn_)qkv(\.\w+)$/.exec(name);
  if (fused)
    return cutRows(
      tensor,
      ['q', 'k', 'v'].map((part) => `${fused[1]}${part}${fused[2]}`),
    );
  const isTable = name === 'token_types.weight' || name === 'cls.output.weight';
  return [isTable && shape.length === 1 ? { ...tensor, shape: [1, ...shape] } : tensor];
}
