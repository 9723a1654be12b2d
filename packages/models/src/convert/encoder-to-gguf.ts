import { basename, dirname } from 'node:path';
import type { MetadataInput, OutputTensor, QuantizeSource } from '@quern/quant';
import { decoderOf } from '../encoder/decoder-as-encoder.js';
import { withDenseEntries } from '../encoder/dense.js';
import { ggufPoolings } from '../encoder/encoder-config.js';
import { ModelError } from '../error.js';
import { takeRows } from '../weights/map-tensors.js';
import { type ResolvedWeight, resolveWeights } from '../weights/resolve-weights.js';
import { encoderExtras, noticeUnread } from '../weights/unread-tensors.js';
import { isConstant } from '../weights/weight-file.js';
import { outputTensor } from './output-tensor.js';
import { type EncoderFolder, textDecoderToGguf } from './text-decoder-to-gguf.js';
import type { ConvertOptions } from './to-gguf.js';

/**
 * Converts a Hugging Face encoder to the content of a GGUF file: llama.cpp's metadata and tensor names; the position
 * table starts at `firstPosition`. The classifier is kept with its pooler; a pooler alone is dropped. Weights are read
 * at writing.
 * @throws ModelError UNSUPPORTED_CONFIG for an architecture or activation without a GGUF form; MISSING_WEIGHT,
 * BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT, ABORTED.
 */
export async function encoderToGguf(
  file: EncoderFolder,
  options: ConvertOptions = {},
): Promise<QuantizeSource> {
  const { architecture, config, path } = file;
  if (!config.normalise)
    options.onNotice?.(
      `${path}: its embeddings are not normalised; GGUF cannot express this: embeddings from the GGUF file have length 1`,
    );
  const decoder = decoderOf(architecture);
  if (decoder) return textDecoderToGguf(file, decoder, options);
  const name = ggufName(file);
  const resolved = resolveWeights(
    withDenseEntries(architecture.weights, config),
    config,
    file.weights,
  ).filter(({ field, tensor }) => !isConstant(tensor) && (config.labels > 0 || !field.startsWith('pooler')));
  noticeUnread({ ...file, resolved }, encoderExtras, 'dropped', options.onNotice);
  const tensors: OutputTensor[] = [];
  for (const weight of resolved) tensors.push(await tensorOf(weight, file, options.signal));
  return {
    metadata: new Map<string, MetadataInput>([
      ['general.architecture', name],
      ['general.name', basename(dirname(path))],
      ...Object.entries(metadataOf(file)).map(([key, value]) => [`${name}.${key}`, value] as const),
      ['tokenizer.ggml.token_type_count', Math.max(1, config.segments)],
      ...(options.vocabulary ?? []),
    ]),
    tensors,
  };
}

function ggufName({ architecture, config, path }: EncoderFolder): string {
  if (!architecture.gguf)
    throw new ModelError(
      'UNSUPPORTED_CONFIG',
      `${path}: the architecture '${architecture.name}' has no GGUF form`,
    );
  if (config.gelu !== 'erf')
    throw new ModelError(
      'UNSUPPORTED_CONFIG',
      `${path}: its gelu is the tanh approximation; GGUF files of encoders cannot express it`,
    );
  return architecture.gguf.name;
}

function metadataOf({ config, metadata }: EncoderFolder): Record<string, MetadataInput> {
  const ranks = config.labels > 0;
  return {
    block_count: config.layers,
    context_length: config.context,
    embedding_length: config.width,
    feed_forward_length: config.feedForward,
    'attention.head_count': config.heads,
    'attention.layer_norm_epsilon': { type: 'float32', value: config.normEps },
    'attention.causal': false,
    pooling_type: ranks ? ggufPoolings.rank : ggufPoolings[config.pooling],
    vocab_size: config.vocabulary,
    ...(config.positions === 0 && { 'rope.freq_base': { type: 'float32', value: config.rope.theta } }),
    ...(config.labels > 1 && { 'classifier.output_labels': labelNames(metadata.id2label, config.labels) }),
  };
}

/** Label names from config.json's id2label: { "0": "NEGATIVE", … }. */
function labelNames(names: unknown, count: number): string[] {
  const named = typeof names === 'object' && names !== null ? new Map(Object.entries(names)) : new Map();
  return Array.from({ length: count }, (_, i) => String(named.get(String(i)) ?? `LABEL_${i}`));
}

function tensorOf(
  { field, layer, tensor }: ResolvedWeight,
  { architecture, config }: EncoderFolder,
  signal: AbortSignal | undefined,
): Promise<OutputTensor> {
  const table = layer === undefined ? architecture.weights.model : architecture.weights.layer;
  const name = table[field]?.gguf.replace('{i}', String(layer)) ?? field; // matrices after the pooling: their fields
  // llama.cpp counts positions from 0: one row per token of the longest text
  const stored = field === 'positions' ? takeRows(tensor, config.firstPosition, config.context) : tensor;
  return outputTensor(name, stored, { signal });
}
