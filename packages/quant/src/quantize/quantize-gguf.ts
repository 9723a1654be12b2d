import { checkArgument, checkOptions, pickOptions, rules, type Schema } from '@quern/core';
import type { GgufFile } from '../gguf/gguf-file.js';
import type { MetadataValue } from '../gguf/metadata.js';
import { openGguf } from '../gguf/open.js';
import type { MetadataInput } from '../gguf/write-metadata.js';
import { native, noNative } from '../native.js';
import { chooseFormat, isMixed, type MixedModel, type ShapedTensor } from './choose-formats.js';
import { badArgument } from './error.js';
import type { ImportanceMatrix } from './importance.js';
import { type Mix, type MixName, mixes, mixNames } from './mixes.js';
import { sourceTensors } from './source-tensors.js';
import {
  type OutputTensor,
  type WriteQuantizedOptions,
  writeQuantized,
  writeQuantizedSchema,
} from './write-quantized.js';

export interface QuantizeOptions extends WriteQuantizedOptions {
  readonly mix: MixName;
  readonly importance?: ImportanceMatrix | undefined;
  /**
   * Problems that do not stop quantising: rows that do not fit a format, tensors without importance, values rounded
   * twice.
   */
  readonly onNotice?: ((message: string) => void) | undefined;
}

/** Rule and default of each option. */
export const quantizeSchema = {
  mix: {
    ...rules.oneOf(mixNames),
    must: `one of ${mixNames.join(', ')}`,
    about: 'formats of the tensors',
    required: true,
  },
  importance: {
    must: 'an importance matrix, from readImportance',
    holds: (value): value is ImportanceMatrix =>
      rules.isObject(value) && typeof value.path === 'string' && rules.isObject(value.entries),
    about: 'weight of each matrix column in the rounding error',
    absent: 'equal for all columns',
  },
  onNotice: {
    ...rules.callback,
    about:
      'problems that do not stop quantising: fallback formats, tensors without importance, values rounded twice',
    absent: 'none',
  },
  ...writeQuantizedSchema,
} as const satisfies Schema<QuantizeOptions>;

/** Tensors and metadata of a model to be written in a mix. */
export interface QuantizeSource {
  /** By GGUF's names, with types where they matter. */
  readonly metadata: ReadonlyMap<string, MetadataInput>;
  readonly tensors: readonly SourceTensor[];
}

/** A tensor without a chosen format. */
export type SourceTensor = OutputTensor;

/**
 * Writes the model of a GGUF file (or of all parts of a split one) in a mix, by the rules of llama.cpp. Works piece by
 * piece on threads: memory stays small and the event loop free. On an error no file is left.
 * @throws QuantizeError; FileError if the input is broken or the output cannot be written.
 */
export async function quantizeGguf(input: string, output: string, options: QuantizeOptions): Promise<void> {
  checkArgument('quantizeGguf', 'input', input, rules.path, badArgument);
  needOutput('quantizeGguf', output);
  checkOptions('quantizeGguf', options, quantizeSchema, badArgument);
  const file = await openGguf(input);
  await quantizeSource(
    { metadata: typedMetadata(file), tensors: sourceTensors(file.tensors) },
    output,
    options,
  );
}

/** The same for a model from any source. @throws as quantizeGguf */
export async function quantizeSource(
  source: QuantizeSource,
  output: string,
  options: QuantizeOptions,
): Promise<void> {
  needOutput('quantizeSource', output);
  checkOptions('quantizeSource', options, quantizeSchema, badArgument);
  const { mix: name, importance, onNotice } = options;
  const mix: Mix = mixes[name];
  const notices = new Notices();
  const model = modelOf(source, importance !== undefined);
  const tensors = source.tensors.map((tensor) => targetOf(tensor, mix, model, importance, notices));
  for (const notice of notices.texts(name, importance)) onNotice?.(notice);
  if (!native && tensors.some(isSearched)) onNotice?.(noNative());
  await writeQuantized(output, metadataOf(source, mix, importance), tensors, pickOptions(options, written));
}

const written = Object.keys(writeQuantizedSchema) as (keyof WriteQuantizedOptions)[];

/** @throws QuantizeError BAD_ARGUMENT */
export const needOutput = (where: string, output: unknown): void =>
  checkArgument(where, 'output', output, rules.path, badArgument);

/** Whether encoding searches for scales, which is slow. */
const isSearched = (tensor: OutputTensor): boolean =>
  'parts' in tensor &&
  tensor.from !== tensor.to &&
  (/_k$|^iq4/.test(tensor.to) || tensor.importance !== undefined);

/** All metadata with their file types, except the keys of a split model. */
function typedMetadata({ metadata, metadataTypes }: GgufFile): Map<string, MetadataInput> {
  const typed = [...metadata].map(([key, value]): [string, MetadataInput] => [
    key,
    { type: metadataTypes.get(key)!, value },
  ]);
  return new Map(typed.filter(([key]) => !key.startsWith('split.')));
}

const plainValue = (input: MetadataInput | undefined): MetadataValue | undefined =>
  typeof input === 'object' && 'type' in input && 'value' in input ? input.value : input;

/** The model properties that mixes use, from the metadata. A missing value defaults to one that changes no rule. */
function modelOf({ metadata, tensors }: QuantizeSource, weighted: boolean): MixedModel {
  const architecture = String(plainValue(metadata.get('general.architecture')) ?? '');
  const number = (key: string): number => {
    const value = plainValue(metadata.get(`${architecture}.${key}`));
    const first = typeof value === 'object' ? value[0] : value; // a list has one value per layer
    return typeof first === 'number' && first > 0 ? first : 0;
  };
  const heads = number('attention.head_count');
  return {
    layers: number('block_count'),
    groupedQueries: heads / (number('attention.head_count_kv') || heads || 1),
    experts: number('expert_count'),
    weighted,
    tied: !tensors.some(({ name }) => name === 'output.weight'),
  };
}

function targetOf(
  tensor: SourceTensor,
  mix: Mix,
  model: MixedModel,
  importance: ImportanceMatrix | undefined,
  notices: Notices,
): OutputTensor {
  if (!('parts' in tensor)) return tensor;
  const shaped: ShapedTensor = { name: tensor.name, shape: tensor.shape, format: tensor.to };
  const { format, instead, sharesScales } = chooseFormat(shaped, mix, model);
  const values = isMixed(shaped) ? importance?.entries.get(tensor.name) : undefined;
  if (instead) notices.fallbacks.push(`${tensor.name} [${tensor.shape}] is ${format}, not ${instead}`);
  if (importance && isMixed(shaped) && !values) notices.unweighted.push(tensor.name);
  const changes = format !== tensor.from || sharesScales;
  if (changes && !dense.has(tensor.stored ?? tensor.from)) notices.requantised.push(tensor.name);
  return {
    ...tensor,
    to: format,
    ...(values && { importance: values }),
    ...(sharesScales && { sharesScales }),
  };
}

const dense: ReadonlySet<string> = new Set(['f32', 'f16', 'bf16', 'f64']);

/** Notices that are given once each, for any number of tensors. */
class Notices {
  readonly fallbacks: string[] = [];
  readonly unweighted: string[] = [];
  readonly requantised: string[] = [];

  *texts(mix: MixName, importance: ImportanceMatrix | undefined): Generator<string> {
    if (this.fallbacks.length > 0)
      yield `${this.fallbacks.length} ${this.fallbacks.length === 1 ? 'tensor has' : 'tensors have'} rows that are not whole blocks of their format in ${mix}: ${listed(this.fallbacks)}`;
    if (this.unweighted.length > 0)
      yield `${importance?.path} has no importance for ${this.unweighted.length} ${this.unweighted.length === 1 ? 'tensor, which is' : 'tensors, which are'} quantised without importance: ${listed(this.unweighted)}`;
    if (this.requantised.length > 0)
      yield `${this.requantised.length} ${this.requantised.length === 1 ? 'tensor is' : 'tensors are'} quantised already; a second rounding adds to their error: ${listed(this.requantised)}`;
  }
}

const listed = (items: readonly string[]): string =>
  items.length <= 4 ? items.join('; ') : `${items.slice(0, 3).join('; ')}; and ${items.length - 3} more`;

const quantizationVersion = 2; // GGML_QNT_VERSION

function metadataOf(
  { metadata }: QuantizeSource,
  { fileType }: Mix,
  importance: ImportanceMatrix | undefined,
): Map<string, MetadataInput> {
  const result = new Map(metadata);
  result.set('general.quantization_version', { type: 'uint32', value: quantizationVersion });
  result.set('general.file_type', { type: 'uint32', value: fileType });
  if (!importance) return result;
  result.set('quantize.imatrix.file', importance.path);
  result.set('quantize.imatrix.entries_count', { type: 'int32', value: importance.entries.size });
  if (importance.dataset !== undefined) result.set('quantize.imatrix.dataset', importance.dataset);
  if (importance.chunks !== undefined)
    result.set('quantize.imatrix.chunks_count', { type: 'int32', value: importance.chunks });
  return result;
}
