import { type Backend, checkArgument, elementCount, type Rule, rules } from '@quern/core';
import type { DecoderConfig } from './config/decoder-config.js';
import { badArgument } from './error.js';
import type { ModelFile } from './model-file.js';
import { bytesOn } from './weights/load-weights.js';
import { type ResolvedWeight, resolveWeights } from './weights/resolve-weights.js';
import { storedBytes } from './weights/weight-file.js';

/** What a planner needs to know of a model, without loading it. */
export interface ModelDescription {
  readonly architecture: string;
  readonly config: DecoderConfig;
  /** Elements of all weights. */
  readonly parameters: number;
  /** Of these, elements that one token is multiplied with: all but those of experts that are not chosen. */
  readonly activeParameters: number;
  /** Bytes of the weights once loaded, before whatever padding the backend's layout adds. */
  readonly weightBytes: number;
  /** Of these, bytes of each layer. */
  readonly layerBytes: readonly number[];
  /** And bytes of what belongs to no layer: embedding, output norm, output projection. */
  readonly otherBytes: number;
  /** Bytes of the weights that one decoded token reads: all but the embedding's other rows and the experts not chosen. */
  readonly bytesPerToken: number;
  /** Formats of the matrices, with the bytes that each takes in the file, most first. */
  readonly formats: readonly { readonly format: string; readonly bytes: number }[];
}

const opened: Rule<ModelFile> = {
  must: 'a model, from openModelFile',
  holds: (value): value is ModelFile => rules.isObject(value) && rules.isObject(value.weights),
};

/**
 * Describes an opened model as it would lie on a backend, or, without one, as it lies in its file.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT or BAD_ARGUMENT.
 */
export function describeModel(file: ModelFile, backend?: Backend): ModelDescription {
  checkArgument('describeModel', 'file', file, opened, badArgument);
  const { architecture, config, weights } = file;
  const resolved = resolveWeights(architecture.weights, config, weights);
  const embedding = config.tied ? undefined : resolved.find(({ field }) => field === 'embedding');
  const bytesOf = ({ tensor }: ResolvedWeight) => (backend ? bytesOn(backend, tensor) : storedBytes(tensor));
  const sum = (some: readonly ResolvedWeight[]) => some.reduce((total, weight) => total + bytesOf(weight), 0);
  const count = (part: (weight: ResolvedWeight) => number) =>
    resolved.reduce((total, weight) => total + elementCount(weight.tensor.shape) * part(weight), 0);
  const read = (weight: ResolvedWeight) => (weight === embedding ? 0 : bytesOf(weight) * weight.used);
  const layerBytes = Array.from({ length: config.layers }, () => 0);
  for (const weight of resolved) if (weight.layer !== undefined) layerBytes[weight.layer]! += bytesOf(weight);
  return {
    architecture: architecture.name,
    config,
    parameters: count(() => 1),
    activeParameters: count(({ used }) => used),
    weightBytes: sum(resolved),
    layerBytes,
    otherBytes: sum(resolved.filter(({ layer }) => layer === undefined)),
    bytesPerToken: resolved.reduce((total, weight) => total + read(weight), 0),
    formats: formatsOf(resolved),
  };
}

function formatsOf(resolved: readonly ResolvedWeight[]): ModelDescription['formats'] {
  const bytes = new Map<string, number>();
  for (const { tensor } of resolved)
    if (tensor.shape.length > 1)
      bytes.set(tensor.format, (bytes.get(tensor.format) ?? 0) + storedBytes(tensor));
  return [...bytes].map(([format, count]) => ({ format, bytes: count })).sort((a, b) => b.bytes - a.bytes);
}
