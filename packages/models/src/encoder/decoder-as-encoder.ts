import type { Backend, Tensor, Weight } from '@quern/core';
import type { AnyLoadedWeights, Architecture } from '../architecture.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { GgufSource } from '../config/gguf.js';
import type { HuggingFaceSource } from '../config/hugging-face.js';
import { ModelError } from '../error.js';
import type { FileTensor } from '../weights/file-tensor.js';
import { cutRows, mapTensors, takeRows } from '../weights/map-tensors.js';
import type { WeightFile } from '../weights/weight-file.js';
import type { WeightEntry, WeightTable } from '../weights/weight-table.js';
import type { Encoder, EncoderArchitecture } from './encoder.js';
import { ggufPooling } from './encoder-config.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { needNoSinks, wholeTexts } from './uncached-backend.js';

/** The configuration of a decoder, and of its use as an encoder. */
export type EmbeddingDecoderConfig = DecoderConfig & EncoderConfig;

/** A decoder that embeds or ranks texts. */
export interface EmbeddingDecoder extends EncoderArchitecture {
  readonly decoder: Architecture;
}

/** Tensors of the labels: [1, D] each. */
export const labelNames = ['cls.yes.weight', 'cls.no.weight'] as const;

/** The row of a label: [1, D]. */
const labelEntry = (name: string) =>
  ({
    gguf: name,
    huggingFace: name,
    shape: (c: EmbeddingDecoderConfig) => [1, c.width],
    when: (c: EmbeddingDecoderConfig) => c.labels > 0,
  }) satisfies WeightEntry<EmbeddingDecoderConfig>;

/** A decoder's parameters without an output projection, and its labels. */
export function textWeights(decoder: Architecture): WeightTable<EmbeddingDecoderConfig> {
  const { output: _, outputBias: __, ...model } = decoder.weights.model;
  return {
    model: { ...model, yes: labelEntry(labelNames[0]), no: { ...labelEntry(labelNames[1]), optional: true } },
    layer: decoder.weights.layer,
  };
}

/**
 * A decoder as an encoder: the hidden states of whole texts after the last norm, without a cache. With a classifier: the
 * logit of its first label less that of its second, at the last row. It needs no output projection.
 * @param causal whether a row sees no later rows, unless the file says something else
 */
export function decoderAsEncoder(decoder: Architecture, causal = true): EmbeddingDecoder {
  return {
    kind: 'encoder',
    decoder,
    name: decoder.name,
    names: decoder.names,
    weights: textWeights(decoder),
    rename: (file) => renameLabels(file.naming === 'gguf' ? file : renameModel(decoder, file)),
    configFromGguf: (source) => fromGguf(decoder.configFromGguf(source), source, causal),
    configFromHuggingFace: (source) => fromHuggingFace(decoder.configFromHuggingFace(source), source, causal),
    build: (b, w, config: EmbeddingDecoderConfig) => textDecoder(decoder, b, w, config),
  };
}

const isTextDecoder = (architecture: EncoderArchitecture): architecture is EmbeddingDecoder =>
  'decoder' in architecture;

/** The decoder of an encoder's architecture, if it is one. */
export const decoderOf = (architecture: EncoderArchitecture): Architecture | undefined =>
  isTextDecoder(architecture) ? architecture.decoder : undefined;

function renameModel(decoder: Architecture, file: WeightFile): WeightFile {
  const whole = underModel(file);
  return decoder.rename?.(whole) ?? whole;
}

/** Files of a bare model (Qwen3Model) lack the prefix of a class with a head. */
function underModel(file: WeightFile): WeightFile {
  if (!file.tensors.has('embed_tokens.weight')) return file;
  const named = (name: string) => (/^(score|lm_head)\./.test(name) ? name : `model.${name}`);
  return mapTensors(file, (tensor) => [{ ...tensor, name: named(tensor.name) }]);
}

/** The classifier's matrix [labels, D] as rows: of one label, or of yes and no. */
function renameLabels(file: WeightFile): WeightFile {
  return mapTensors(file, (tensor) => {
    if (tensor.name !== 'cls.output.weight' && tensor.name !== 'score.weight') return [tensor];
    const shape = tensor.shape.length === 1 ? [1, ...tensor.shape] : tensor.shape;
    return shape[0]! > 2 ? [tensor] : cutRows({ ...tensor, shape }, labelNames.slice(0, shape[0]));
  });
}

/** The rows of two tokens in the output projection as the classifier's: how a model answers yes or no. */
export function withLabelTokens(file: WeightFile, yes: number, no: number | undefined): WeightFile {
  const names = ['lm_head.weight', 'model.embed_tokens.weight', 'output.weight', 'token_embd.weight'];
  const output = names.map((name) => file.tensors.get(name)).find((tensor) => tensor !== undefined);
  const rowOf = (token: number, name: string): FileTensor => {
    if (output && token < output.shape[0]!) return { ...takeRows(output, token, 1), name };
    throw new ModelError(
      'BAD_CONFIG',
      `${file.paths[0]}: the output projection has no row ${token}, a label`,
    );
  };
  const rows = [rowOf(yes, labelNames[0]), ...(no === undefined ? [] : [rowOf(no, labelNames[1])])];
  return { ...file, tensors: new Map([...file.tensors, ...rows.map((row) => [row.name, row] as const)]) };
}

function fromGguf(
  config: DecoderConfig,
  { settings, weights }: GgufSource,
  otherwise: boolean,
): EmbeddingDecoderConfig {
  const names = settings.texts('classifier.output_labels') ?? ['yes', 'no'];
  if (weights.tensors.has(labelNames[1]) && (names[0] !== 'yes' || names[1] !== 'no'))
    settings.refuse('classifier.output_labels', 'two labels must be yes and no');
  const causal = settings.flag('attention.causal') ?? otherwise;
  return asEncoder(config, weights, { causal, pooling: ggufPooling(settings, 'last'), normalise: true });
}

function fromHuggingFace(
  config: DecoderConfig,
  { settings, weights, embedding }: HuggingFaceSource,
  otherwise: boolean,
): EmbeddingDecoderConfig {
  const { pooling = 'mean', normalise = true, maxTokens = config.context } = embedding ?? {};
  const isEncoder = settings.flag('use_bidirectional_attention');
  const causal = settings.flag('is_causal') ?? (isEncoder === undefined ? otherwise : !isEncoder);
  const context = Math.min(config.context, maxTokens);
  return asEncoder({ ...config, context }, weights, { causal, pooling, normalise });
}

function asEncoder(
  config: DecoderConfig,
  { tensors, paths }: WeightFile,
  rules: Required<Pick<EncoderConfig, 'causal' | 'pooling' | 'normalise'>>,
): EmbeddingDecoderConfig {
  if (config.layerStates)
    throw new ModelError(
      'UNSUPPORTED_CONFIG',
      `${paths[0]}: layers of this model keep states between tokens: Quern cannot embed with it yet`,
    );
  return {
    ...config,
    ...rules,
    gelu: config.gelu ?? 'tanh',
    labelPooling: 'last',
    ...{ segments: 0, positions: 0, firstPosition: 0, labels: tensors.has(labelNames[0]) ? 1 : 0 },
  };
}

function textDecoder(
  architecture: Architecture,
  b: Backend,
  w: AnyLoadedWeights,
  config: EmbeddingDecoderConfig,
): Encoder {
  needNoSinks(w.layers.some(({ sinks }) => sinks));
  const { backend, cache, batchOf } = wholeTexts(b, config);
  const decoder = architecture.build(backend, w, config);
  const { yes, no } = w as { readonly yes?: Weight; readonly no?: Weight };
  if (!decoder.norm)
    throw new ModelError(
      'UNSUPPORTED_CONFIG',
      `the architecture '${architecture.name}' gives no hidden states: its decoder has no function norm`,
    );
  const { norm } = decoder;
  return {
    hidden(ids, texts) {
      const batch = batchOf(texts);
      let x = decoder.embed(ids, batch); // [T, D]
      for (let i = 0; i < config.layers; i++) x = decoder.layer(x, i, batch, cache); // [T, D]
      return norm(x);
    },
    ...(yes && {
      classify(x: Tensor): Tensor {
        const logit = backend.linear(x, yes); // [S, 1]
        return no ? b.add(logit, b.scale(backend.linear(x, no), -1)) : logit; // [S, 1]
      },
    }),
  };
}
