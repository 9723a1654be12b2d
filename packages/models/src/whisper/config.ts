import { limits } from '../config/decoder-config.js';
import type { Settings } from '../config/settings.js';
import { ModelError } from '../error.js';

/** The sizes of a Whisper model (Radford et al. 2022): an encoder of audio frames, a decoder of text tokens. */
export interface WhisperConfig {
  /** D, the width of encoder and decoder. */
  readonly width: number;
  /** V, rows of the token embedding. */
  readonly vocabulary: number;
  /** M, bands of the log-mel spectrogram: 80, or 128 from large-v3 on. */
  readonly melBands: number;
  readonly encoder: StackConfig;
  readonly decoder: StackConfig;
}

/** The encoder's or the decoder's stack of layers. */
export interface StackConfig {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  /** d, elements per head: width / heads. */
  readonly headDim: number;
  /** F, the inner width of the feed-forward. */
  readonly feedForward: number;
  /** Rows of the position table. Encoder: frames after the second convolution; decoder: tokens. */
  readonly context: number;
  readonly vocabulary: number;
  readonly melBands: number;
}

/** Keys of the sizes, per kind of file. */
interface SizeKeys {
  readonly width: string;
  readonly vocabulary: string;
  readonly melBands: string;
  readonly encoder: StackKeys;
  readonly decoder: StackKeys;
}
interface StackKeys {
  readonly layers: string;
  readonly heads: string;
  readonly context: string;
  /** Absent: 4 · D by definition. */
  readonly feedForward?: string;
}

const huggingFaceKeys: SizeKeys = {
  width: 'd_model',
  vocabulary: 'vocab_size',
  melBands: 'num_mel_bins',
  encoder: {
    layers: 'encoder_layers',
    heads: 'encoder_attention_heads',
    context: 'max_source_positions',
    feedForward: 'encoder_ffn_dim',
  },
  decoder: {
    layers: 'decoder_layers',
    heads: 'decoder_attention_heads',
    context: 'max_target_positions',
    feedForward: 'decoder_ffn_dim',
  },
};

/** Keys of whisper.cpp's header (`ggml`); our GGUF metadata prefixes them with `whisper.`. */
const ggmlKeys: SizeKeys = {
  width: 'n_audio_state',
  vocabulary: 'n_vocab',
  melBands: 'n_mels',
  encoder: { layers: 'n_audio_layer', heads: 'n_audio_head', context: 'n_audio_ctx' },
  decoder: { layers: 'n_text_layer', heads: 'n_text_head', context: 'n_text_ctx' },
};

/** @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG. */
export function whisperConfigFromHuggingFace(settings: Settings): WhisperConfig {
  if (settings.text('activation_function', 'gelu') !== 'gelu')
    settings.refuse('activation_function', 'the feed-forward supports gelu only');
  if (settings.flag('scale_embedding'))
    settings.refuse('scale_embedding', 'scaled embeddings are not supported');
  if (settings.flag('tie_word_embeddings') === false)
    settings.refuse('tie_word_embeddings', 'only tied output projections are supported');
  return readSizes(settings, huggingFaceKeys);
}

/** @throws ModelError BAD_CONFIG. */
export function whisperConfigFromGgml(settings: Settings): WhisperConfig {
  const text = settings.whole('n_text_state', limits.width);
  if (text !== settings.whole('n_audio_state', limits.width))
    settings.fail('n_text_state', 'the width of the encoder, n_audio_state');
  return readSizes(settings, ggmlKeys);
}

/**
 * The sizes under whisper.cpp's names, as `whisperConfigFromGgml` reads them.
 * @throws ModelError UNSUPPORTED_CONFIG for F ≠ 4 · D, which has no name there.
 */
export function ggmlSizes(config: WhisperConfig, path: string): Record<string, number> {
  const { width, vocabulary, melBands } = config;
  const sizes = Object.entries({ encoder: config.encoder, decoder: config.decoder }).flatMap(
    ([side, stack]) => {
      const keys = ggmlKeys[side as 'encoder' | 'decoder'];
      if (stack.feedForward !== 4 * width)
        throw new ModelError(
          'UNSUPPORTED_CONFIG',
          `${path}: the feed-forward of its ${side} is ${stack.feedForward} wide; GGUF files of Whisper have four times the width, ${4 * width}`,
        );
      return [
        [keys.layers, stack.layers],
        [keys.heads, stack.heads],
        [keys.context, stack.context],
      ] as const;
    },
  );
  return {
    [ggmlKeys.width]: width,
    n_text_state: width,
    [ggmlKeys.vocabulary]: vocabulary,
    [ggmlKeys.melBands]: melBands,
    ...Object.fromEntries(sizes),
  };
}

/** Far above the 80 and 128 bands of the models. */
const maxMelBands = 512;

function readSizes(settings: Settings, keys: SizeKeys): WhisperConfig {
  const width = settings.whole(keys.width, limits.width);
  const vocabulary = settings.whole(keys.vocabulary, limits.vocabulary);
  const melBands = settings.whole(keys.melBands, maxMelBands);
  const stack = (names: StackKeys): StackConfig => {
    const heads = settings.whole(names.heads, limits.heads);
    if (width % heads !== 0) settings.fail(names.heads, `a divisor of the width ${width}`);
    return {
      layers: settings.whole(names.layers, limits.layers),
      width,
      heads,
      headDim: width / heads,
      feedForward: names.feedForward ? settings.whole(names.feedForward, limits.feedForward) : 4 * width,
      context: settings.whole(names.context, maxContext),
      vocabulary,
      melBands,
    };
  };
  return { width, vocabulary, melBands, encoder: stack(keys.encoder), decoder: stack(keys.decoder) };
}

/** Far above the models' 1500 frames and 448 tokens. */
const maxContext = 2 ** 16;
