import type { WeightEntry, WeightTable } from '../weights/weight-table.js';
import type { StackConfig } from './config.js';

type Entry = WeightEntry<StackConfig>;
type Shape = Entry['shape'];

const vector: Shape = (c) => [c.width];
const square: Shape = (c) => [c.width, c.width];

/** GGUF names are whisper.cpp's, which are OpenAI's. */
const entry = (huggingFace: string, gguf: string, shape: Shape): Entry => ({ gguf, huggingFace, shape });

/** A projection [D, D] and its bias. */
const projection = <const F extends string>(field: F, huggingFace: string, gguf: string) =>
  ({
    [field]: entry(`${huggingFace}.weight`, `${gguf}.weight`, square),
    [`${field}Bias`]: entry(`${huggingFace}.bias`, `${gguf}.bias`, vector),
  }) as Record<F | `${F}Bias`, Entry>;

/** Weight and bias of a layer norm. */
const norm = <const F extends string>(field: F, huggingFace: string, gguf: string) =>
  ({
    [field]: entry(`${huggingFace}.weight`, `${gguf}.weight`, vector),
    [`${field}Bias`]: entry(`${huggingFace}.bias`, `${gguf}.bias`, vector),
  }) as Record<F | `${F}Bias`, Entry>;

/** A layer's parameters in either stack: `model.encoder.layers.{i}` (Hugging Face), `encoder.blocks.{i}` (GGUF). */
const layerOf = (stack: 'encoder' | 'decoder') => {
  const [hf, gguf] = [`model.${stack}.layers.{i}`, `${stack}.blocks.{i}`];
  return {
    ...norm('attnNorm', `${hf}.self_attn_layer_norm`, `${gguf}.attn_ln`),
    ...projection('q', `${hf}.self_attn.q_proj`, `${gguf}.attn.query`),
    k: entry(`${hf}.self_attn.k_proj.weight`, `${gguf}.attn.key.weight`, square),
    ...projection('v', `${hf}.self_attn.v_proj`, `${gguf}.attn.value`),
    ...projection('attnOutput', `${hf}.self_attn.out_proj`, `${gguf}.attn.out`),
    ...norm('ffnNorm', `${hf}.final_layer_norm`, `${gguf}.mlp_ln`),
    up: entry(`${hf}.fc1.weight`, `${gguf}.mlp.0.weight`, (c) => [c.feedForward, c.width]),
    upBias: entry(`${hf}.fc1.bias`, `${gguf}.mlp.0.bias`, (c) => [c.feedForward]),
    down: entry(`${hf}.fc2.weight`, `${gguf}.mlp.2.weight`, (c) => [c.width, c.feedForward]),
    downBias: entry(`${hf}.fc2.bias`, `${gguf}.mlp.2.bias`, vector),
  };
};

/** Kernel width W of both convolutions. */
const taps = 3;

export const encoderWeights = {
  model: {
    conv1: entry('model.encoder.conv1.weight', 'encoder.conv1.weight', (c) => [c.width, c.melBands, taps]),
    conv1Bias: entry('model.encoder.conv1.bias', 'encoder.conv1.bias', vector),
    conv2: entry('model.encoder.conv2.weight', 'encoder.conv2.weight', (c) => [c.width, c.width, taps]),
    conv2Bias: entry('model.encoder.conv2.bias', 'encoder.conv2.bias', vector),
    positions: {
      ...entry('model.encoder.embed_positions.weight', 'encoder.positional_embedding', (c) => [
        c.context,
        c.width,
      ]),
      uses: () => ['embed'],
      optional: true,
    },
    ...norm('outputNorm', 'model.encoder.layer_norm', 'encoder.ln_post'),
  },
  layer: layerOf('encoder'),
} as const satisfies WeightTable<StackConfig>;

export const decoderWeights = {
  model: {
    embedding: {
      ...entry('model.decoder.embed_tokens.weight', 'decoder.token_embedding.weight', (c) => [
        c.vocabulary,
        c.width,
      ]),
      uses: () => ['embed', 'row'],
    },
    positions: {
      ...entry('model.decoder.embed_positions.weight', 'decoder.positional_embedding', (c) => [
        c.context,
        c.width,
      ]),
      uses: () => ['embed'],
    },
    ...norm('outputNorm', 'model.decoder.layer_norm', 'decoder.ln'),
  },
  layer: {
    ...layerOf('decoder'),
    ...norm(
      'crossNorm',
      'model.decoder.layers.{i}.encoder_attn_layer_norm',
      'decoder.blocks.{i}.cross_attn_ln',
    ),
    ...projection(
      'crossQ',
      'model.decoder.layers.{i}.encoder_attn.q_proj',
      'decoder.blocks.{i}.cross_attn.query',
    ),
    crossK: entry(
      'model.decoder.layers.{i}.encoder_attn.k_proj.weight',
      'decoder.blocks.{i}.cross_attn.key.weight',
      square,
    ),
    ...projection(
      'crossV',
      'model.decoder.layers.{i}.encoder_attn.v_proj',
      'decoder.blocks.{i}.cross_attn.value',
    ),
    ...projection(
      'crossOutput',
      'model.decoder.layers.{i}.encoder_attn.out_proj',
      'decoder.blocks.{i}.cross_attn.out',
    ),
  },
} as const satisfies WeightTable<StackConfig>;
