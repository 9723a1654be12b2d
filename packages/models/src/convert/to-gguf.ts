import { basename, dirname } from 'node:path';
import type { MetadataInput, OutputTensor, QuantizeSource } from '@quern/quant';
import { ModelError } from '../error.js';
import type { HuggingFaceModelFile } from '../model-file.js';
import { type ResolvedWeight, resolveWeights, wholeTensor } from '../weights/resolve-weights.js';
import { decoderExtras, noticeUnread } from '../weights/unread-tensors.js';
import { isConstant } from '../weights/weight-file.js';
import { ggufMetadata, isUnroundedYarn, ropeTensors } from './gguf-metadata.js';
import { outputTensor } from './output-tensor.js';
import { rotatingHeads } from './rotating.js';

export interface ConvertOptions {
  /** `tokenizer.*` entries. */
  readonly vocabulary?: ReadonlyMap<string, MetadataInput> | undefined;
  readonly onNotice?: ((message: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Converts a Hugging Face decoder to the content of a GGUF file: llama.cpp's metadata, tensor names and row order.
 * Matrices keep their format until a mix is chosen; vectors become f32. Weights are read at writing.
 * @throws ModelError UNSUPPORTED_CONFIG for an architecture without a GGUF form; MISSING_WEIGHT, BAD_WEIGHT_SHAPE,
 * UNKNOWN_FORMAT, ABORTED.
 */
export async function toGguf(
  file: HuggingFaceModelFile,
  options: ConvertOptions = {},
): Promise<QuantizeSource> {
  const { architecture, config, path } = file;
  const { gguf } = architecture;
  if (!gguf)
    throw new ModelError(
      'UNSUPPORTED_CONFIG',
      `${path}: the architecture '${architecture.name}' has no GGUF form`,
    );
  noticeRouting(file, options);
  const otherwise = gguf.llamaCppDiffers?.(config);
  if (otherwise)
    options.onNotice?.(
      `${path}: Quern follows the folder's configuration, but llama.cpp ${otherwise}: its numbers will differ`,
    );
  if (isUnroundedYarn(config.rope))
    options.onNotice?.(
      `${path}: GGUF's YaRN rounds the ends of its ramp, this model's does not (truncate: false). The frequencies are written as the tensor rope_freqs.weight, which llama.cpp reads for some architectures alone`,
    );
  const resolved = resolveWeights(architecture.weights, config, file.weights);
  noticeUnread({ ...file, resolved }, decoderExtras(config), 'dropped', options.onNotice);
  const tensors = new Map<string, OutputTensor>(); // parameters can share a tensor
  for (const weight of resolved.filter((some) => !isConstant(some.tensor))) {
    const tensor = await tensorOf(weight, file, gguf.rope === 'interleaved', options.signal);
    tensors.set(tensor.name, tensor);
  }
  return {
    metadata: new Map<string, MetadataInput>([
      ['general.architecture', gguf.name],
      ['general.name', basename(dirname(path))],
      ...Object.entries(ggufMetadata(gguf, config)),
      ...(options.vocabulary ?? []),
    ]),
    tensors: [...tensors.values(), ...ropeTensors(config)],
  };
}

function tensorOf(
  { field, layer, tensor }: ResolvedWeight,
  { architecture, config, weights, path }: HuggingFaceModelFile,
  interleaved: boolean,
  signal: AbortSignal | undefined,
): Promise<OutputTensor> {
  const table = layer === undefined ? architecture.weights.model : architecture.weights.layer;
  const entry = table[field]!;
  const name = entry.gguf.replace('{i}', String(layer));
  const rotary = interleaved && field in rotatingHeads ? config.headDim : undefined;
  if (!entry.rows) return outputTensor(name, tensor, { rotary, signal });
  if (rotary !== undefined)
    throw new ModelError(
      'UNSUPPORTED_CONFIG',
      `${path}: '${tensor.name}' holds more than ${field}: Quern cannot reorder its rows for llama.cpp's Llama`,
    );
  return outputTensor(name, wholeTensor(entry, config, weights, layer), { signal });
}

/** Where llama.cpp ignores the metadata of such a file. */
function noticeRouting(
  { architecture, config: { mixture }, path }: HuggingFaceModelFile,
  { onNotice }: ConvertOptions,
): void {
  if (architecture.gguf?.routed) return;
  if (mixture && !mixture.renormalise)
    onNotice?.(
      `${path}: the weights of chosen experts do not sum to one in this model (norm_topk_prob is false). Quern follows the file; llama.cpp always normalises them: its numbers will differ`,
    );
  if (mixture?.sparse.includes(false))
    onNotice?.(`${path}: some layers have no experts: Quern reads such GGUF files, llama.cpp does not`);
}
