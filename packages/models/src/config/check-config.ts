import { rules, showValue } from '@quern/core';
import { badArchitecture } from '../check-architecture.js';
import { callOf } from '../checked-calls.js';
import type { EncoderConfig } from '../encoder/encoder-parameters.js';
import { type DecoderConfig, limits } from './decoder-config.js';

/** Sizes of a configuration, and their upper bounds. */
type Bounds = Readonly<Record<string, number>>;

const shared = {
  layers: limits.layers,
  width: limits.width,
  heads: limits.heads,
  headDim: limits.headDim,
  feedForward: limits.feedForward,
  vocabulary: limits.vocabulary,
  context: limits.context,
} as const satisfies Bounds;

const ofDecoders = { ...shared, kvHeads: limits.heads } as const satisfies Bounds;

const isWhole = (value: unknown, most: number): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;

/** Checks sizes and constants: a slip in an architecture's own code must not look like a broken file. */
function need(name: string, call: string, config: unknown, bounds: Bounds, epsilon: string): void {
  const fault = (what: string, value: unknown) =>
    badArchitecture(name, `${call} must give ${what}; it gives ${showValue(value)}`);
  if (!rules.isObject(config)) throw fault('a configuration', config);
  for (const [field, most] of Object.entries(bounds))
    if (!isWhole(config[field], most))
      throw fault(`${field} as a whole number from 1 to ${most}`, config[field]);
  const { rope } = config;
  if (!rules.isObject(rope) || !(Number(rope.theta) > 0)) throw fault('rope as { theta, layout }', rope);
  if (!(Number(config[epsilon]) >= 0)) throw fault(`${epsilon} as a number, 0 or more`, config[epsilon]);
}

/**
 * The configuration that an architecture reads.
 * @param call the name of the reader, for messages
 * @throws ModelError BAD_ARCHITECTURE where a size is missing or absurd; the errors of the reader
 */
export function readDecoderConfig(name: string, call: string, read: () => DecoderConfig): DecoderConfig {
  const config = callOf(name, call, read);
  need(name, call, config, ofDecoders, 'normEps');
  const { layers, windows } = config;
  if (Array.isArray(windows) && windows.length === layers && windows.every((window) => window >= 0))
    return config;
  throw badArchitecture(
    name,
    `${call} must give windows as ${layers} numbers, one per layer (0: full attention); it gives ${showValue(windows)}`,
  );
}

/** As `readDecoderConfig`, for an encoder. */
export function readEncoderConfig(name: string, call: string, read: () => EncoderConfig): EncoderConfig {
  const config = callOf(name, call, read);
  need(name, call, config, shared, 'normEps');
  return config;
}
