import { type DeviceCeilings, kvCacheBytes, type Model, type ModelDescription } from '@quern/runtime';
import type { LanguageWork } from './works.js';

/** A figure as a share of the machine's ceiling. */
export interface Share {
  /** 1 = the ceiling. */
  readonly share: number;
  /** The ceiling: 'read bandwidth', or the element type of the multiply-adds. */
  readonly of: string;
}

/** Bytes of keys and values per token with `keys` cached tokens on average. */
const bytesOfKeys = ({ config, plan }: Model, keys: number): number =>
  keys * kvCacheBytes({ ...config, dtype: plan.cacheDtype }, 1);

/** A step reads the weights once per batch, and each sequence's keys and values: on average half of the answer's. */
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
 * Operations: 2 per weight of the layers (experts: the chosen); in attention 2 per element of a key and 2 per element
 * of a value, over half of the prompt on average.
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

/** The fastest arithmetic of the machine for products with weights of a format. */
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

/** Decode: share of read bandwidth. Prefill: share of the arithmetic for the format of most weights. */
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
