import { denseFormats } from '@quern/core';
import { isGgufFormat } from '@quern/quant';
import { ModelError } from '../error.js';
import type { FileTensor, WeightFile } from './weight-file.js';
import type { WeightEntry, WeightTable } from './weight-table.js';

/** A field of the architecture and the tensor that fills it. */
export interface ResolvedWeight {
  readonly field: string;
  /** Absent for parameters of the whole model. */
  readonly layer?: number;
  readonly tensor: FileTensor;
}

/**
 * Finds every parameter of a table in a file, and checks its shape and format, before anything is loaded.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT, naming the tensor and the file.
 */
export function resolveWeights<Config extends { readonly layers: number }>(
  table: WeightTable<Config>,
  config: Config,
  file: WeightFile,
): readonly ResolvedWeight[] {
  const find = (field: string, entry: WeightEntry<Config>, layer?: number): ResolvedWeight[] => {
    const tensor = findTensor(entry, config, file, layer);
    return tensor ? [{ field, tensor, ...(layer !== undefined && { layer }) }] : [];
  };
  const ofModel = Object.entries(table.model).flatMap(([field, entry]) => find(field, entry));
  const ofLayers = Array.from({ length: config.layers }, (_, layer) =>
    Object.entries(table.layer).flatMap(([field, entry]) => find(field, entry, layer)),
  );
  return [...ofModel, ...ofLayers.flat()];
}

function findTensor<Config>(
  entry: WeightEntry<Config>,
  config: Config,
  file: WeightFile,
  layer: number | undefined,
): FileTensor | undefined {
  if (entry.when && !entry.when(config)) return undefined;
  const name = entry[file.naming].replace('{i}', String(layer));
  const shape = entry.shape(config);
  const tensor = file.tensors.get(name);
  if (tensor) return checkTensor(tensor, shape);
  if (entry.optional) return undefined;
  throw new ModelError(
    'MISSING_WEIGHT',
    `${file.paths[0]}: tensor '${name}' [${shape}] is missing (the file has ${file.tensors.size} tensors); ` +
      'the file is incomplete, or of another architecture than it says',
  );
}

function checkTensor(tensor: FileTensor, shape: readonly number[]): FileTensor {
  const at = `${tensor.bytes.path}: tensor '${tensor.name}'`;
  if (tensor.shape.length !== shape.length || tensor.shape.some((size, i) => size !== shape[i]))
    throw new ModelError(
      'BAD_WEIGHT_SHAPE',
      `${at} must have shape [${shape}] by the configuration; it has [${tensor.shape}]`,
    );
  if (!isDense(tensor) && !isGgufFormat(tensor.format))
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `${at} is ${tensor.format}, which Quern does not compute with; it reads ${denseFormats.join(', ')} and GGUF's block formats`,
    );
  return tensor;
}

/** Every backend loads these as they are. */
export const isDense = ({ format }: FileTensor): boolean => denseFormats.some((dense) => dense === format);
