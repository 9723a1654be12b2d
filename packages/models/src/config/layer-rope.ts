import type { KvCache, RopeOptions } from '@quern/core';
import type { DecoderConfig } from './decoder-config.js';

/**
 * How q and k of a layer rotate. LongRoPE has two lists of factors: the context of the cache chooses, so that all keys in it rotate
 * alike, however long its sequences are by now. llama.cpp chooses so too.
 */
export function layerRope(
  { rope, windowRope, shortRope, windows }: DecoderConfig,
  layer: number,
  cache: KvCache,
): RopeOptions {
  if (windowRope && windows[layer]! > 0) return windowRope;
  return shortRope && cache.options.context <= shortRope.context ? shortRope.rope : rope;
}
