import { QuernError, rules, showValue, type Tensor } from '@quern/core';
import { badArchitecture } from './check-architecture.js';
import type { Decoder } from './decoder.js';
import type { Encoder } from './encoder/encoder.js';

/** A promise, of this realm or another. */
const isPromise = (value: unknown): boolean => rules.isObject(value) && typeof value.then === 'function';

/**
 * Calls a function of an architecture.
 * @param hint what may be the reason, for errors that are no error of Quern
 * @throws ModelError BAD_ARCHITECTURE for any other error, which is its cause, and for a promise
 */
export function callOf<T>(name: string, call: string, act: () => T, hint = ''): T {
  let value: T;
  try {
    value = act();
  } catch (cause) {
    if (cause instanceof QuernError) throw cause;
    throw badArchitecture(name, `${call} threw ${showError(cause)}${hint}`, { cause });
  }
  if (isPromise(value)) throw badArchitecture(name, `${call} is async: it must return its result at once`);
  return value;
}

/** By properties: an error may come from another realm. */
const showError = (cause: unknown): string =>
  rules.isObject(cause) && typeof cause.message === 'string'
    ? `${cause.name ?? 'an error'}: ${cause.message}`
    : showValue(cause);

/** Needs a tensor with these sizes; NaN: any size. */
function needTensor(name: string, call: string, value: unknown, sizes: readonly number[]): Tensor {
  if (!isTensor(value))
    throw badArchitecture(
      name,
      `${call} must return a tensor of the backend's ops; it returned ${showValue(value)}`,
    );
  const { shape } = value;
  const fits =
    shape.length === sizes.length && sizes.every((size, i) => Number.isNaN(size) || size === shape[i]);
  if (fits) return value;
  const wanted = sizes.map((size) => (Number.isNaN(size) ? '…' : size));
  throw badArchitecture(
    name,
    `${call} must return a tensor [${wanted.join(', ')}]; it has shape [${shape.join(', ')}]`,
  );
}

const isTensor = (value: unknown): value is Tensor =>
  rules.isObject(value) && value.kind === 'tensor' && Array.isArray(value.shape);

/** Needs the functions of a decoder or an encoder. */
function needFunctions(name: string, built: unknown, wanted: readonly string[]): void {
  const missing = wanted.find((field) => !rules.isObject(built) || typeof built[field] !== 'function');
  if (missing !== undefined)
    throw badArchitecture(
      name,
      `build must return an object with the functions ${wanted.join(', ')}; ${missing} is not one`,
    );
}

/** What a decoder's functions must return. */
interface Sizes {
  readonly width: number;
  readonly vocabulary: number;
}

/**
 * The decoder that `build` returns, whose functions report errors of the architecture with its name and the layer.
 * @param hint what may be the reason where `build` throws
 * @throws ModelError BAD_ARCHITECTURE
 */
export function checkedDecoder(
  name: string,
  { width, vocabulary }: Sizes,
  build: () => Decoder,
  hint?: string,
): Decoder {
  const decoder = callOf(name, 'build', build, hint);
  needFunctions(name, decoder, ['embed', 'layer', 'logits']);
  return {
    embed: (ids, batch) =>
      needTensor(
        name,
        'embed',
        callOf(name, 'embed', () => decoder.embed(ids, batch)),
        [ids.shape[0]!, width],
      ),
    layer(x, i, batch, cache) {
      const call = `layer ${i}`;
      const y = callOf(name, call, () => decoder.layer(x, i, batch, cache));
      return needTensor(name, call, y, x.shape);
    },
    ...(decoder.norm && {
      norm: (x: Tensor) =>
        needTensor(
          name,
          'norm',
          callOf(name, 'norm', () => decoder.norm?.(x)),
          x.shape,
        ),
    }),
    logits: (x) =>
      needTensor(
        name,
        'logits',
        callOf(name, 'logits', () => decoder.logits(x)),
        [x.shape[0]!, vocabulary],
      ),
  };
}

/**
 * The encoder that `build` returns, whose functions report errors of the architecture with its name.
 * @throws ModelError BAD_ARCHITECTURE
 */
export function checkedEncoder(name: string, width: number, build: () => Encoder): Encoder {
  const encoder = callOf(name, 'build', build);
  needFunctions(name, encoder, ['hidden', ...(encoder.classify ? ['classify'] : [])]);
  return {
    hidden: (ids, batch) =>
      needTensor(
        name,
        'hidden',
        callOf(name, 'hidden', () => encoder.hidden(ids, batch)),
        [ids.shape[0]!, width],
      ),
    ...(encoder.classify && {
      classify: (x: Tensor) =>
        needTensor(
          name,
          'classify',
          callOf(name, 'classify', () => encoder.classify?.(x)),
          [x.shape[0]!, Number.NaN],
        ),
    }),
  };
}
