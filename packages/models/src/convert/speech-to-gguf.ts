import { basename, dirname } from 'node:path';
import type { MetadataInput, OutputTensor, QuantizeSource } from '@quern/quant';
import { type ResolvedWeight, resolveWeights } from '../weights/resolve-weights.js';
import { noticeUnread, tiedOutput } from '../weights/unread-tensors.js';
import type { WeightTable } from '../weights/weight-table.js';
import { ggmlSizes, type StackConfig } from '../whisper/config.js';
import type { SpeechFile } from '../whisper/open.js';
import { decoderWeights, encoderWeights } from '../whisper/weights.js';
import { outputTensor } from './output-tensor.js';
import type { ConvertOptions } from './to-gguf.js';

/**
 * Converts a Whisper of Hugging Face or whisper.cpp to the content of a GGUF file for `openSpeechModel`: whisper.cpp's
 * names of tensors and sizes; sizes have the prefix `whisper.`. Weights are read at writing.
 * @throws ModelError UNSUPPORTED_CONFIG for sizes without a whisper.cpp name; MISSING_WEIGHT, BAD_WEIGHT_SHAPE,
 * UNKNOWN_FORMAT, ABORTED.
 */
export async function speechToGguf(file: SpeechFile, options: ConvertOptions = {}): Promise<QuantizeSource> {
  const { config, path } = file;
  const sizes = ggmlSizes(config, path);
  const stacks = [
    [encoderWeights, config.encoder],
    [decoderWeights, config.decoder],
  ] as const;
  const tensors: OutputTensor[] = [];
  const resolved: ResolvedWeight[] = [];
  for (const [table, stack] of stacks)
    for (const weight of resolveWeights<StackConfig>(table, stack, file.weights)) {
      resolved.push(weight);
      tensors.push(await outputTensor(nameOf(table, weight), weight.tensor, options));
    }
  noticeUnread({ path, weights: file.weights, resolved }, tiedOutput, 'dropped', options.onNotice);
  return {
    metadata: new Map<string, MetadataInput>([
      ['general.architecture', 'whisper'],
      ['general.name', file.kind === 'huggingFace' ? basename(dirname(path)) : basename(path)],
      ...Object.entries(sizes).map(([key, value]) => [`whisper.${key}`, value] as const),
      ...(options.vocabulary ?? []),
    ]),
    tensors,
  };
}

const nameOf = ({ model, layer }: WeightTable<StackConfig>, weight: ResolvedWeight): string =>
  (weight.layer === undefined ? model : layer)[weight.field]!.gguf.replace('{i}', String(weight.layer));
