import { type Backend, checkArgument, elementCount, type Rule, rules } from '@quern/core';
import type { DecoderConfig } from './config/decoder-config.js';
import { badArgument } from './error.js';
import type { LayerRange } from './layer-ranges.js';
import type { ModelFile } from './model-file.js';
import { decodedFormat } from './weights/decode-weight.js';
import { bytesOn, readsNatively } from './weights/load-weights.js';
import { isDense, type ResolvedWeight, resolveWeights } from './weights/resolve-weights.js';
import { decoderExtras, unreadTensors } from './weights/unread-tensors.js';
import { isConstant, type StoredTensor, storedBytes } from './weights/weight-file.js';
import type { DecoderFunction } from './weights/weight-table.js';

/** The cost of a group of weights. */
export interface WeightCost {
  /** Bytes once loaded. */
  readonly bytes: number;
  /** Bytes that one decoded token reads: without the embedding's other rows and the experts not chosen. */
  readonly perToken: number;
  /** Elements that one token is multiplied with. */
  readonly active: number;
  /** Of these, elements in blocks: a device decodes them, or multiplies them as integers. */
  readonly inBlocks: number;
}

/** The cost of each layer and of the model's two ends. */
export interface ModelCosts {
  readonly layers: readonly WeightCost[];
  /** Weights that only `embed` reads. */
  readonly embed: WeightCost;
  /** Weights that only `logits` reads. */
  readonly logits: WeightCost;
  /**
   * Weights of both (a tied embedding): loaded twice if the ends are on two backends. A token reads them for its
   * logits.
   */
  readonly both: WeightCost;
}

/** A model's costs, for planning, without loading the model. */
export interface ModelDescription {
  readonly architecture: string;
  readonly config: DecoderConfig;
  /** Elements of all weights. */
  readonly parameters: number;
  /** Elements that one token is multiplied with: all except experts not chosen. */
  readonly activeParameters: number;
  /** Bytes of the weights once loaded, without padding of the backend's layout. */
  readonly weightBytes: number;
  /** The same weights by layer. */
  readonly costs: ModelCosts;
  /**
   * Bytes of weights that one decoded token reads: all except the embedding's other rows and the experts not chosen.
   */
  readonly bytesPerToken: number;
  /** Formats of the matrices with their bytes in the file, largest first. */
  readonly formats: readonly { readonly format: string; readonly bytes: number }[];
  /** Tensors of the file that the architecture does not read. */
  readonly unread: readonly string[];
  /** Formats that the backend does not read: such weights are decoded at loading. */
  readonly decoded: readonly string[];
}

const opened: Rule<ModelFile> = {
  must: 'a model, from openModelFile',
  holds: (value): value is ModelFile => rules.isObject(value) && rules.isObject(value.weights),
};

/**
 * Describes an opened model as it would be on a backend; without a backend, as it is in its file.
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT or BAD_ARGUMENT.
 */
export function describeModel(file: ModelFile, backend?: Backend): ModelDescription {
  checkArgument('describeModel', 'file', file, opened, badArgument);
  const { architecture, config, weights } = file;
  const resolved = resolveWeights(architecture.weights, config, weights);
  const learned = resolved.filter(({ tensor }) => !isConstant(tensor));
  const costOf = (weight: ResolvedWeight): WeightCost => costOn(weight, backend);
  const costs = costsOf(resolved, config.layers, costOf);
  const whole = rangeCost(costs, { from: 0, to: config.layers });
  return {
    architecture: architecture.name,
    config,
    parameters: learned.reduce((sum, { tensor }) => sum + elementCount(tensor.shape), 0),
    activeParameters: learned.reduce((sum, { tensor, used }) => sum + elementCount(tensor.shape) * used, 0),
    weightBytes: whole.bytes,
    costs,
    bytesPerToken: whole.perToken,
    formats: formatsOf(resolved),
    unread: unreadTensors({ ...file, resolved }, decoderExtras(config)),
    decoded: backend ? decodedOn(backend, resolved) : [],
  };
}

const nothing: WeightCost = { bytes: 0, perToken: 0, active: 0, inBlocks: 0 };

const sumOf = (costs: readonly WeightCost[]): WeightCost =>
  costs.reduce(
    (sum, { bytes, perToken, active, inBlocks }) => ({
      bytes: sum.bytes + bytes,
      perToken: sum.perToken + perToken,
      active: sum.active + active,
      inBlocks: sum.inBlocks + inBlocks,
    }),
    nothing,
  );

const reads = ({ readBy }: ResolvedWeight, by: DecoderFunction): boolean => readBy?.includes(by) ?? true;
const onlyEmbeds = (weight: ResolvedWeight): boolean => reads(weight, 'embed') && !reads(weight, 'logits');
const isTable = (weight: ResolvedWeight): boolean =>
  onlyEmbeds(weight) || (weight.layer === undefined && reads(weight, 'layer'));

/** A token needs one row of a weight that only `embed` reads, or the layers beside their own: cost 0. */
function costOn(weight: ResolvedWeight, backend: Backend | undefined): WeightCost {
  const { tensor, used } = weight;
  const bytes = backend ? bytesOn(backend, tensor) : storedBytes(tensor);
  if (isTable(weight)) return { ...nothing, bytes };
  const active = elementCount(tensor.shape) * used;
  return { bytes, perToken: bytes * used, active, inBlocks: isInBlocks(tensor, backend) ? active : 0 };
}

function isInBlocks(tensor: StoredTensor, backend: Backend | undefined): boolean {
  if (backend && !readsNatively(backend, tensor)) return decodedFormat(backend, tensor) !== 'f32';
  return !isDense(tensor);
}

function costsOf(
  resolved: readonly ResolvedWeight[],
  layers: number,
  costOf: (weight: ResolvedWeight) => WeightCost,
): ModelCosts {
  const ofLayers = Array.from({ length: layers }, (): WeightCost[] => []);
  const ofModel: Record<'embed' | 'logits' | 'both', WeightCost[]> = { embed: [], logits: [], both: [] };
  for (const weight of resolved) {
    const end = isTable(weight) ? 'embed' : reads(weight, 'embed') ? 'both' : 'logits';
    (weight.layer === undefined ? ofModel[end] : ofLayers[weight.layer]!).push(costOf(weight));
  }
  return {
    layers: ofLayers.map(sumOf),
    embed: sumOf(ofModel.embed),
    logits: sumOf(ofModel.logits),
    both: sumOf(ofModel.both),
  };
}

/** The cost of a range of layers; the first and last ranges include the model's ends. */
export function rangeCost({ layers, embed, logits, both }: ModelCosts, { from, to }: LayerRange): WeightCost {
  const [isFirst, isLast] = [from === 0, to === layers.length];
  const shared = isLast ? both : isFirst ? { ...nothing, bytes: both.bytes } : nothing;
  return sumOf([...layers.slice(from, to), isFirst ? embed : nothing, isLast ? logits : nothing, shared]);
}

const decodedOn = (backend: Backend, resolved: readonly ResolvedWeight[]): string[] => [
  ...new Set(
    resolved.flatMap(({ tensor }) =>
      tensor.shape.length > 1 && !readsNatively(backend, tensor) ? [tensor.format] : [],
    ),
  ),
];

function formatsOf(resolved: readonly ResolvedWeight[]): ModelDescription['formats'] {
  const bytes = new Map<string, number>();
  for (const { tensor } of resolved)
    if (tensor.shape.length > 1)
      bytes.set(tensor.format, (bytes.get(tensor.format) ?? 0) + storedBytes(tensor));
  return [...bytes].map(([format, count]) => ({ format, bytes: count })).sort((a, b) => b.bytes - a.bytes);
}
