import { type DeviceCeilings, kvCacheBytes, type Model, type ModelDescription } from '@quern/runtime';
import type { LanguageWork } from './works.js';

/** How near a figure is to what the machine could do. */
export interface Share {
  /** Of 1. */
  readonly share: number;
  /** What is used up: 'read bandwidth', or the element type whose multiply-adds are counted. */
  readonly of: string;
}

/** Bytes of keys and values that a token reads when `keys` tokens, a mean of whole numbers, are in the cache. */
const bytesOfKeys = ({ config, plan }: Model, keys: number): number =>
  keys * kvCacheBytes({ ...config, dtype: plan.cacheDtype }, 1);

/** A step reads the weights once for the whole batch, and the keys and values of each sequence: half the answer, on average. */
function decodeShare(
  model: Model,
  { bytesPerToken }: ModelDescription,
  ceilings: DeviceCeilings,
  work: Extract<LanguageWork, { kind: 'decode' }>,
  milliseconds: number,
): Share {
  const { tokens, depth, batch } = work;
  const bytesPerStep = bytesPerToken + batch * bytesOfKeys(model, depth + (tokens + 1) / 2);
  const bytesPerSecond = (bytesPerStep * tokens * 1000) / milliseconds;
  return { share: bytesPerSecond / ceilings.readBandwidth, of: 'read bandwidth' };
}

/**
 * Two operations for each weight of the layers (of experts, the chosen), and in attention two for each element of a key and two for each of a
 * value, for half the prompt on average.
 */
function prefillOperations(
  { config, activeParameters }: ModelDescription,
  { tokens, depth }: Extract<LanguageWork, { kind: 'prefill' }>,
): number {
  const { vocabulary, width, tied, layers, heads, headDim } = config;
  const ofLayers = activeParameters - vocabulary * width * (tied ? 1 : 2);
  const keys = depth + (tokens + 1) / 2;
  return tokens * (2 * ofLayers + 4 * layers * heads * headDim * keys);
}

/** The fastest arithmetic of this machine that a product with weights of a format can be done in. */
export function fastestFor(format: string, { rates }: DeviceCeilings): readonly [name: string, rate: number] {
  const half = ['f16', 'bf16'].includes(format) ? 'bf16' : undefined;
  const wanted = format === 'f32' ? 'f32' : (half ?? 'int8');
  const sorted = Object.entries(rates).sort(([, a], [, b]) => b - a);
  const own = sorted.filter(([name]) => name === wanted || name.startsWith(`${wanted}-`));
  return own[0] ?? ['f32', rates.f32!];
}

function prefillShare(
  description: ModelDescription,
  ceilings: DeviceCeilings,
  work: Extract<LanguageWork, { kind: 'prefill' }>,
  milliseconds: number,
): Share {
  const [of, rate] = fastestFor(description.formats[0]!.format, ceilings);
  return { share: (1000 * prefillOperations(description, work)) / milliseconds / rate, of };
}

/** Decoding is held against the memory's bandwidth, a prompt against the arithmetic for the format of most weights. */
export const shareOf = (
  model: Model,
  description: ModelDescription,
  ceilings: DeviceCeilings,
  work: LanguageWork,
  milliseconds: number,
): Share =>
  work.kind === 'decode'
    ? decodeShare(model, description, ceilings, work, milliseconds)
    : prefillShare(description, ceilings, work, milliseconds);
