import { basename, dirname } from 'node:path';
import type { MetadataInput, OutputTensor, QuantizeSource } from '@quern/quant';
import { ModelError } from '../error.js';
import type { HuggingFaceModelFile } from '../model-file.js';
import { type ResolvedWeight, resolveWeights } from '../weights/resolve-weights.js';
import { partsOf, type StoredTensor, type WeightFile } from '../weights/weight-file.js';
import { ggufMetadata, ropeTensors } from './gguf-metadata.js';
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
  const resolved = resolveWeights(architecture.weights, config, file.weights);
  const used = resolved.map(({ tensor }) => tensor);
  noticeUnused(file, used, (name) => isExpected(file, name), options.onNotice);
  const tensors = new Map<string, OutputTensor>(); // parameters can share a tensor
  for (const weight of resolved) {
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
  return outputTensor(name, weights.tensors.get(tensor.name)!, { signal });
}

/** Where llama.cpp ignores the metadata of such a file. */
function noticeRouting(
  { config: { mixture }, path }: HuggingFaceModelFile,
  { onNotice }: ConvertOptions,
): void {
  if (mixture && !mixture.renormalise)
    onNotice?.(
      `${path}: the weights of chosen experts do not sum to one in this model (norm_topk_prob is false). Quern follows the file; llama.cpp always normalises them: its numbers will differ`,
    );
  if (mixture?.sparse.includes(false))
    onNotice?.(`${path}: some layers have no experts: Quern reads such GGUF files, llama.cpp does not`);
}

/** RoPE frequencies are recomputed from the configuration; a tied output is the embedding. */
function isExpected({ config }: HuggingFaceModelFile, name: string): boolean {
  return name.endsWith('rotary_emb.inv_freq') || (config.tied && name === 'lm_head.weight');
}

/** A part of a quantised matrix: the whole matrix has another name. */
const isPart = (name: string): boolean =>
  /\.(qweight|qzeros|scales|g_idx|\w+_scale|weight_scale_inv)$/.test(name);

/** Reports dropped tensors: the model may need them. */
export function noticeUnused(
  { weights, path }: { readonly weights: WeightFile; readonly path: string },
  used: readonly StoredTensor[],
  isExpected: (name: string) => boolean,
  onNotice: ConvertOptions['onNotice'],
): void {
  const names = new Set(used.flatMap((tensor) => partsOf(tensor).map(({ name }) => name)));
  const dropped = [...weights.tensors.keys()].filter(
    (name) => !names.has(name) && !isPart(name) && !isExpected(name),
  );
  if (dropped.length > 0)
    onNotice?.(
      `${path}: ${dropped.length} tensors are not part of the architecture and are dropped: ${dropped.slice(0, 4).join(', ')}`,
    );
}
