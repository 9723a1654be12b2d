import { denseFormats, showValue, type WeightUse } from '@quern/core';
import { isGgufFormat } from '@quern/quant';
import { ModelError } from '../error.js';
import type { FileTensor } from './file-tensor.js';
import { gatherRows, rangesWithin, takeRows } from './map-tensors.js';
import type { StoredTensor, WeightFile } from './weight-file.js';
import type { DecoderFunction, FusedRows, RowRange, WeightEntry, WeightTable } from './weight-table.js';

/** A field of the architecture with its tensor. */
export interface ResolvedWeight {
  readonly field: string;
  /** Absent for parameters of the whole model. */
  readonly layer?: number;
  readonly tensor: StoredTensor;
  /** Parameters of the whole decoder: the functions that read it. */
  readonly readBy?: readonly DecoderFunction[];
  /** Share that one token reads: 1; stacks of experts: k / E. */
  readonly used: number;
  /** Ops that read it: `WeightSource.uses`. */
  readonly uses: readonly WeightUse[];
}

/** Default uses of a matrix; a vector is no factor of a product. */
const usualUses = ({ shape }: StoredTensor): readonly WeightUse[] =>
  shape.length > 1 ? ['row', 'rows'] : [];

/**
 * Finds every parameter of a table in a file, and checks shape and format, before loading.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT, naming the tensor and the file.
 */
export function resolveWeights<Config extends { readonly layers: number }>(
  table: WeightTable<Config>,
  config: Config,
  file: WeightFile,
): readonly ResolvedWeight[] {
  const find = (field: string, entry: WeightEntry<Config>, layer?: number): ResolvedWeight[] => {
    const tensor = findTensor(entry, config, file, layer);
    if (!tensor) return [];
    const readBy = entry.readBy?.(config);
    const used = entry.used?.(config) ?? 1;
    const uses = entry.uses?.(config) ?? usualUses(tensor);
    return [{ field, tensor, used, uses, ...(readBy && { readBy }), ...(layer !== undefined && { layer }) }];
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
  layer = 0,
): StoredTensor | undefined {
  if (entry.when && !entry.when(config, layer)) return undefined;
  const name = nameIn(file, entry, layer);
  const shape = shapeOf(entry, config, name);
  if (entry.constant) return constantTensor(name, shape, (i) => entry.constant!(config, i), file);
  if (name.includes('{e}')) return findStack(name, shape, file);
  const fused = entry.ggufFused?.name.replace('{i}', String(layer));
  if (file.naming === 'gguf' && fused && !file.tensors.has(name) && file.tensors.has(fused))
    return needRows(fused, shape, entry.ggufFused!.rows(config), file);
  if (!file.tensors.has(name) && entry.optional) return undefined;
  const rows = entry.rows?.(config);
  const whole = needTensor(name, rows ? [rows.of, ...shape.slice(1)] : shape, file, entry);
  const order = orderOf(entry, config, file);
  const own = rangesOf(rows, shape[0]!);
  if (order)
    return gatherRows(
      whole,
      own.flatMap(([first, count]) => rangesWithin(order, first, count)),
    );
  if (own.length > 1) return gatherRows(whole, own);
  return shifted(rows ? takeRows(whole, ...own[0]!) : whole, entry, file);
}

const rangesOf = (rows: FusedRows | undefined, count: number): readonly RowRange[] =>
  rows && 'ranges' in rows ? rows.ranges : [[rows?.from ?? 0, count]];

/** The tensor that holds a parameter beside others, with its rows in the order of GGUF files: [of, K]. */
export function wholeTensor<Config>(
  entry: WeightEntry<Config>,
  config: Config,
  file: WeightFile,
  layer = 0,
): StoredTensor {
  const name = nameIn(file, entry, layer);
  const shape = shapeOf(entry, config, name);
  const whole = needTensor(name, [entry.rows?.(config).of ?? shape[0]!, ...shape.slice(1)], file, entry);
  const order = orderOf(entry, config, file);
  return order ? gatherRows(whole, order) : whole;
}

const orderOf = <Config>(
  entry: WeightEntry<Config>,
  config: Config,
  { naming }: WeightFile,
): readonly RowRange[] | undefined =>
  naming === 'huggingFace' ? entry.huggingFaceRows?.(config) : undefined;

function constantTensor(
  name: string,
  shape: readonly number[],
  constant: (i: number) => number,
  { paths }: WeightFile,
): FileTensor {
  return { name, shape, format: 'f32', constant, bytes: { path: paths[0]!, offset: 0, byteLength: 0 } };
}

function shapeOf<Config>(entry: WeightEntry<Config>, config: Config, name: string): readonly number[] {
  const shape: unknown = entry.shape(config);
  const isSize = (size: unknown) => Number.isInteger(size) && Number(size) >= 0;
  if (Array.isArray(shape) && shape.length > 0 && shape.every(isSize)) return shape;
  throw new ModelError(
    'BAD_ARCHITECTURE',
    `the shape of '${name}' in the weight table must be a list of whole numbers; it is ${showValue(shape)}`,
  );
}

/** The tensor of `shape`, or `shape[0]` rows of a tensor with `rows.of` rows. */
function needRows(
  name: string,
  shape: readonly number[],
  rows: { readonly from: number; readonly of: number },
  file: WeightFile,
): FileTensor {
  const [count, ...rest] = shape;
  return takeRows(needTensor(name, [rows.of, ...rest], file), rows.from, count!);
}

function shifted<Config>(
  tensor: FileTensor,
  { huggingFacePlus: plus, huggingFaceIsLog }: WeightEntry<Config>,
  { naming }: WeightFile,
): FileTensor {
  if (huggingFaceIsLog && naming === 'huggingFace') return { ...tensor, isLog: true };
  return plus !== undefined && naming === 'huggingFace' ? { ...tensor, plus } : tensor;
}

/** The file's name of a layer's field; with `{e}` if the experts are separate tensors. */
function nameIn<Config>(file: WeightFile, entry: WeightEntry<Config>, layer: number): string {
  const of = (pattern: string) => pattern.replace('{i}', String(layer));
  const usual = of(entry[file.naming]);
  if (file.naming !== 'gguf' || !entry.ggufApart || file.tensors.has(usual)) return usual;
  const apart = of(entry.ggufApart);
  return file.tensors.has(apart.replace('{e}', '0')) ? apart : usual;
}

function findStack(name: string, [count, ...shape]: readonly number[], file: WeightFile): StoredTensor {
  const parts: FileTensor[] = [];
  for (let e = 0; e < count!; e++) parts.push(needTensor(name.replace('{e}', String(e)), shape, file));
  const { format } = parts[0]!;
  const odd = parts.find((part) => part.format !== format);
  if (odd)
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `${odd.bytes.path}: tensor '${odd.name}' is ${odd.format}, but '${parts[0]!.name}' is ${format}; experts must share a format`,
    );
  return { name: name.replace('{e}', `0–${count! - 1}`), shape: [count!, ...shape], format, parts };
}

function needTensor(
  name: string,
  shape: readonly number[],
  file: WeightFile,
  { huggingFaceTransposed }: Pick<WeightEntry, 'huggingFaceTransposed'> = {},
): FileTensor {
  const tensor = file.tensors.get(name);
  if (tensor && huggingFaceTransposed && file.naming === 'huggingFace')
    return transposedOf(checkTensor(tensor, shape.toReversed(), file));
  if (tensor) return checkTensor(tensor, shape, file);
  throw new ModelError(
    'MISSING_WEIGHT',
    `${file.paths[0]}: tensor '${name}' [${shape}] is missing (the file has ${file.tensors.size} ${file.tensors.size === 1 ? 'tensor' : 'tensors'}); ` +
      'the file is incomplete, or its architecture name is wrong',
  );
}

/** A stored matrix [K, N] as [N, K]. */
function transposedOf(tensor: FileTensor): FileTensor {
  const { name, format, shape, bytes, quantised } = tensor;
  if (quantised || !isDense(tensor))
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `${bytes.path}: tensor '${name}' is ${format}, and this architecture's files hold it transposed; Quern reads such matrices as ${denseFormats.join(', ')}; use another format of the model`,
    );
  return { ...tensor, shape: shape.toReversed(), transposed: { from: 0, of: shape[1]! } };
}

function checkTensor(tensor: FileTensor, shape: readonly number[], file: WeightFile): FileTensor {
  const at = `${tensor.bytes.path}: tensor '${tensor.name}'`;
  if (isPadded(tensor.shape, shape)) return checkTensor({ ...tensor, shape }, shape, file);
  if (tensor.shape.length !== shape.length || tensor.shape.some((size, i) => size !== shape[i]))
    throw new ModelError(
      'BAD_WEIGHT_SHAPE',
      `${at} must have shape [${shape}] by the configuration; it has [${tensor.shape}]`,
    );
  if (!tensor.quantised && (!isGgufFormat(tensor.format) || integers.has(tensor.format)))
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `${at} is ${tensor.format}; Quern cannot compute with it; supported: ${denseFormats.join(', ')}, 8-bit floats and GGUF's block formats`,
    );
  if (tensor.format === 'nvfp4' && file.tensors.has(tensor.name.replace(/weight$/, 'scale')))
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `${at} is nvfp4 with a scale per tensor; Quern does not support it; use another format of the model`,
    );
  return tensor;
}

/** Whether only sizes of 1 differ: depthwise convolutions are [D, 1, L], a row may be a vector. */
function isPadded(stored: readonly number[], shape: readonly number[]): boolean {
  const sizes = (of: readonly number[]) => of.filter((size) => size !== 1).join();
  return stored.length !== shape.length && sizes(stored) === sizes(shape);
}

/** Integer tensors of files have other purposes; as parameters they would lack a scale. */
const integers: ReadonlySet<string> = new Set(['i8', 'i16', 'i32', 'i64']);

/** Every backend loads these formats unchanged. */
export const isDense = ({ format }: Pick<FileTensor, 'format'>): boolean =>
  denseFormats.some((dense) => dense === format);
