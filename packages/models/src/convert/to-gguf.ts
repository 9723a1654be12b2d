import { basename, dirname } from 'node:path';
import {
  interleaveHeads,
  isGgufFormat,
  isMixed,
  type MetadataInput,
  type OutputTensor,
  type QuantizeSource,
} from '@quern/quant';
import type { DecoderConfig } from '../config/decoder-config.js';
import { ModelError } from '../error.js';
import type { HuggingFaceModelFile } from '../model-file.js';
import { decodeToF32 } from '../weights/decode-weight.js';
import { type ResolvedWeight, resolveWeights } from '../weights/resolve-weights.js';
import { partsOf } from '../weights/weight-file.js';
import { ggufMetadata, ropeFactors } from './gguf-metadata.js';

export interface ConvertOptions {
  /** `tokenizer.*` entries. */
  readonly vocabulary?: ReadonlyMap<string, MetadataInput>;
  readonly onNotice?: (message: string) => void;
  readonly signal?: AbortSignal;
}

/** The fields whose rows rotate in pairs, and the heads that each has. */
const rotating: Readonly<Record<string, (config: DecoderConfig) => number>> = {
  q: ({ heads }) => heads,
  qBias: ({ heads }) => heads,
  k: ({ kvHeads }) => kvHeads,
  kBias: ({ kvHeads }) => kvHeads,
};

/**
 * A model of Hugging Face as its GGUF file would be: the metadata that llama.cpp needs, its names of the tensors, and their
 * rows in its order. Matrices keep their format until a mix is chosen; vectors become f32. Weights are read when written.
 * @throws ModelError UNSUPPORTED_CONFIG where the architecture has no form in GGUF; MISSING_WEIGHT, BAD_WEIGHT_SHAPE,
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
      `${path}: the architecture '${architecture.name}' does not say how it is written as GGUF`,
    );
  const resolved = resolveWeights(architecture.weights, config, file.weights);
  noticeUnused(file, resolved, options);
  const tensors: OutputTensor[] = [];
  for (const weight of resolved)
    tensors.push(await tensorOf(weight, file, gguf.rope === 'interleaved', options.signal));
  const factors = ropeFactors(config);
  if (factors) tensors.push(inMemory('rope_freqs.weight', [factors.length], factors));
  return {
    metadata: new Map<string, MetadataInput>([
      ['general.architecture', gguf.name],
      ['general.name', basename(dirname(path))],
      ...Object.entries(ggufMetadata(gguf.name, config)),
      ...(options.vocabulary ?? []),
    ]),
    tensors,
  };
}

async function tensorOf(
  { field, layer, tensor }: ResolvedWeight,
  { architecture, config }: HuggingFaceModelFile,
  interleaved: boolean,
  signal: AbortSignal | undefined,
): Promise<OutputTensor> {
  const table = layer === undefined ? architecture.weights.model : architecture.weights.layer;
  const name = table[field]!.gguf.replace('{i}', String(layer));
  const { shape, format } = tensor;
  const rotary = interleaved && field in rotating ? config.headDim : undefined;
  if (shape.length === 1) {
    const values = await decodeToF32(tensor, signal);
    return inMemory(name, shape, rotary === undefined ? values : interleaveHeads(values, 1, rotary));
  }
  const parts = partsOf(tensor).map(({ bytes }) => bytes);
  if (!isGgufFormat(format))
    throw new ModelError(
      'UNKNOWN_FORMAT',
      `${parts[0]!.path}: tensor '${tensor.name}' is ${format}, which is not converted; convert the model as it was before it was quantised`,
    );
  const to = isMixed({ name, shape }) ? format : 'f32';
  return { name, shape, from: format, to, parts, ...(rotary !== undefined && { rotary }) };
}

const inMemory = (name: string, shape: readonly number[], values: Float32Array): OutputTensor => ({
  name,
  shape,
  format: 'f32',
  data: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
});

/** A tensor that is dropped may be one that matters; frequencies of the rotation are made anew from the configuration. */
function noticeUnused(
  { weights, config, path }: HuggingFaceModelFile,
  resolved: readonly ResolvedWeight[],
  { onNotice }: ConvertOptions,
): void {
  const used = new Set(resolved.flatMap(({ tensor }) => partsOf(tensor).map(({ name }) => name)));
  const expected = (name: string) =>
    name.endsWith('rotary_emb.inv_freq') || (config.tied && name === 'lm_head.weight');
  const dropped = [...weights.tensors.keys()].filter((name) => !used.has(name) && !expected(name));
  if (dropped.length > 0)
    onNotice?.(
      `${path}: ${dropped.length} tensors are no part of the architecture and are left out: ${dropped.slice(0, 4).join(', ')}`,
    );
}
