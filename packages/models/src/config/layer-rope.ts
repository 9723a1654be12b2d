import type { KvCache, RopeOptions } from '@quern/core';
import type { DecoderConfig } from './decoder-config.js';

/**
 * RoPE of a layer. LongRoPE has two lists of factors. The cache's context chooses the list, so that all keys of a cache
 * rotate alike, regardless of the current length. llama.cpp does the same.
 */
export function layerRope(
  { rope, windowRope, shortRope, windows }: DecoderConfig,
  layer: number,
  cache: KvCache,
): RopeOptions {
  if (windowRope && windows[layer]! > 0) return windowRope;
  return shortRope && cache.options.context <= shortRope.context ? shortRope.rope : rope;
}
