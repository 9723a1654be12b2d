import { type Backend, needContract, type Weight, type WeightSource } from '@quern/core';
import { encodeAll } from '@quern/quant';
import { byField } from '../language-model.js';
import { decodeToF32 } from '../weights/decode-weight.js';
import { type LoadOptions, loadWeights } from '../weights/load-weights.js';
import { isDense, type ResolvedWeight, resolveWeights } from '../weights/resolve-weights.js';
import { noticeUnread, notRead, tiedOutput } from '../weights/unread-tensors.js';
import type { StoredTensor } from '../weights/weight-file.js';
import type { StackConfig, WhisperConfig } from './config.js';
import { type DecoderWeights, type WhisperDecoder, whisperDecoder } from './decoder.js';
import { type Encode, type EncoderWeights, sinusoids, whisperEncoder } from './encoder.js';
import { LogMel } from './log-mel.js';
import type { SpeechFile } from './open.js';
import { decoderWeights, encoderWeights } from './weights.js';

/** A Whisper with its weights on a backend. It owns the weights; the caller owns caches and steps. */
export interface WhisperModel {
  readonly config: WhisperConfig;
  readonly backend: Backend;
  /** Bytes of the weights on the backend. */
  readonly weightBytes: number;
  readonly logMel: LogMel;
  readonly encode: Encode;
  readonly decoder: WhisperDecoder;
  /** Frees the weights once no running step uses them. Disposing twice is harmless. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/**
 * Loads the weights of an opened speech model. Checks all tensors before loading any. Failure or abort frees
 * everything.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT or ABORTED; BackendError OUT_OF_MEMORY,
 * BAD_WEIGHT, UNSUPPORTED, WRONG_CONTRACT.
 */
export async function loadWhisper(
  { path, config, weights: file }: SpeechFile,
  backend: Backend,
  options: LoadOptions = {},
): Promise<WhisperModel> {
  needContract(backend);
  const ofEncoder = resolveWeights(encoderWeights, config.encoder, file);
  const ofDecoder = resolveWeights(decoderWeights, config.decoder, file);
  const resolved = [...ofEncoder, ...ofDecoder];
  noticeUnread({ path, weights: file, resolved }, tiedOutput, notRead, options.onNotice);
  const plain = [...ofEncoder.filter((weight) => !isKernel(weight)), ...ofDecoder];
  const kept = new LoadedResources();
  try {
    const logMel = kept.keep(await LogMel.load(backend, config.melBands));
    const kernels: Record<string, Weight> = {};
    for (const { field, tensor } of ofEncoder.filter(isKernel))
      kernels[field] = kept.keep(await backend.loadWeight(await tapByTap(tensor, options.signal)));
    const loaded = await loadWeights(backend, plain, options);
    for (const weight of loaded) kept.keep(weight);
    const encoderCount = plain.length - ofDecoder.length;
    const encoder: Record<string, unknown> = {
      ...byField(plain.slice(0, encoderCount), loaded.slice(0, encoderCount), config.encoder.layers),
      ...kernels,
    };
    encoder.positions ??= kept.keep(await backend.loadWeight(computedPositions(config.encoder)));
    const decoder = byField<DecoderWeights>(ofDecoder, loaded.slice(encoderCount), config.decoder.layers);
    return {
      config,
      backend,
      weightBytes: kept.weightBytes,
      logMel,
      encode: whisperEncoder(backend, encoder as EncoderWeights, config.encoder),
      decoder: whisperDecoder(backend, decoder, config.decoder),
      dispose: () => kept.dispose(),
      [Symbol.dispose]: () => kept.dispose(),
    };
  } catch (error) {
    kept.dispose();
    throw error;
  }
}

/** Loaded resources, disposed together. */
class LoadedResources {
  private readonly all: { dispose(): void; readonly byteLength?: number }[] = [];

  keep<T extends { dispose(): void }>(one: T): T {
    this.all.push(one);
    return one;
  }

  get weightBytes(): number {
    return this.all.reduce((sum, { byteLength = 0 }) => sum + byteLength, 0);
  }

  dispose(): void {
    for (const one of this.all) one.dispose();
  }
}

const isKernel = ({ field }: ResolvedWeight): boolean => field === 'conv1' || field === 'conv2';

/** Convolution kernel: file [N, C, W] → conv1d's [N, W·C], one tap after another. */
async function tapByTap(tensor: StoredTensor, signal: AbortSignal | undefined): Promise<WeightSource> {
  const [N, C, W] = tensor.shape as [number, number, number];
  const values = await decodeToF32(tensor, { signal });
  const turned = new Float32Array(values.length);
  for (let n = 0; n < N; n++)
    for (let c = 0; c < C; c++)
      for (let w = 0; w < W; w++) turned[(n * W + w) * C + c] = values[(n * C + c) * W + w]!;
  const format = isDense(tensor) ? (tensor.format as 'f32' | 'f16' | 'bf16') : 'f32';
  return { name: tensor.name, shape: [N, W * C], format, bytes: encodeAll(format, turned) };
}

const computedPositions = (config: StackConfig): WeightSource => ({
  name: 'sinusoids of positions',
  shape: [config.context, config.width],
  format: 'f32',
  bytes: new Uint8Array(sinusoids(config).buffer),
});
