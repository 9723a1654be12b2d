import type { WeightFile } from '../weights/weight-file.js';
import type { WeightEntry, WeightTable } from '../weights/weight-table.js';
import type { EncoderConfig } from './encoder-parameters.js';

/** Tensors of the matrices after the pooling [out, in], in order. Their fields are their names. */
export const denseNames = ['dense_2.weight', 'dense_3.weight'] as const;

/** The configuration with the matrices after the pooling that a file has. */
export function withDense(config: EncoderConfig, { tensors }: WeightFile): EncoderConfig {
  const found = denseNames.flatMap((name) => tensors.get(name) ?? []);
  return found.length > 0 ? { ...config, dense: found.map(({ shape }) => shape[0]!) } : config;
}

/** An encoder's weight table, and its matrices after the pooling. */
export function withDenseEntries<C extends EncoderConfig>(
  table: WeightTable<C>,
  { dense = [] }: EncoderConfig,
): WeightTable<C> {
  const entries = dense.map((width, i): [string, WeightEntry<C>] => {
    const name = denseNames[i]!;
    return [name, { gguf: name, huggingFace: name, shape: (c) => [width, dense[i - 1] ?? c.width] }];
  });
  return entries.length > 0 ? { ...table, model: { ...table.model, ...Object.fromEntries(entries) } } : table;
}
