import type { MetadataInput, OutputTensor, QuantizeSource } from '@quern/quant';
import type { Architecture } from '../architecture.js';
import { type EmbeddingDecoderConfig, labelNames, textWeights } from '../encoder/decoder-as-encoder.js';
import { withDenseEntries } from '../encoder/dense.js';
import type { EncoderArchitecture } from '../encoder/encoder.js';
import { ggufPoolings } from '../encoder/encoder-config.js';
import type { EncoderConfig } from '../encoder/encoder-parameters.js';
import { rankTemplate, rankTemplateKey } from '../encoder/rank-template.js';
import type { HuggingFaceModelFile } from '../model-file.js';
import type { DecoderWeightTable } from '../weights/weight-table.js';
import { type ConvertOptions, toGguf } from './to-gguf.js';

export type EncoderFolder = HuggingFaceModelFile<EncoderArchitecture, EncoderConfig>;

/** A decoder that embeds or ranks: as `toGguf`, without an output projection. Its labels are one tensor. */
export async function textDecoderToGguf(
  file: EncoderFolder,
  decoder: Architecture,
  options: ConvertOptions,
): Promise<QuantizeSource> {
  const config = file.config as EmbeddingDecoderConfig;
  const weights = withDenseEntries(textWeights(decoder), config) as DecoderWeightTable;
  const { metadata, tensors } = await toGguf(
    { ...file, config, architecture: { ...decoder, weights } },
    options,
  );
  const template = rankTemplate(file.path, file.architecture, config);
  return {
    metadata: new Map<string, MetadataInput>([
      ...metadata,
      ...Object.entries(metadataOf(config, file)).map(
        ([key, value]) => [`${decoder.gguf!.name}.${key}`, value] as const,
      ),
      ...(template === undefined ? [] : [[rankTemplateKey, template] as const]),
    ]),
    tensors: withOneClassifier(tensors),
  };
}

function metadataOf(
  { causal = true, labels, pooling, dense = [], width }: EmbeddingDecoderConfig,
  { weights }: EncoderFolder,
): Record<string, MetadataInput> {
  const sizes = dense.flatMap((out, i) => [
    [`dense_${i + 2}_feat_in`, dense[i - 1] ?? width],
    [`dense_${i + 2}_feat_out`, out],
  ]);
  return {
    'attention.causal': causal,
    pooling_type: labels > 0 ? ggufPoolings.rank : ggufPoolings[pooling],
    ...(weights.tensors.has(labelNames[1]) && { 'classifier.output_labels': ['yes', 'no'] }),
    ...Object.fromEntries(sizes),
  };
}

/** The rows of the labels as one matrix. */
function withOneClassifier(tensors: readonly OutputTensor[]): readonly OutputTensor[] {
  const names: readonly string[] = labelNames;
  const rows = tensors.flatMap((tensor) =>
    names.includes(tensor.name) && 'parts' in tensor ? [tensor] : [],
  );
  const others = tensors.filter(({ name }) => !names.includes(name));
  const [first] = rows;
  if (!first) return others;
  const shape = [rows.length, ...first.shape.slice(1)];
  const parts = rows.flatMap((row) => row.parts);
  return [...others, { ...first, name: 'cls.output.weight', shape, parts }];
}
