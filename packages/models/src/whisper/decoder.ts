import type { AttentionBatch, Backend, KvCache, Tensor } from '@quern/core';
import type { LoadedWeights } from '../weights/weight-table.js';
import type { StackConfig } from './config.js';
import { geluFeedForward, layerNorm } from './parts.js';
import type { decoderWeights } from './weights.js';

export type DecoderWeights = LoadedWeights<typeof decoderWeights>;

/** The decoder's two caches: `text` of its tokens, `sound` of the encoder's output. */
export interface DecoderCaches {
  readonly text: KvCache;
  readonly sound: KvCache;
}

/** A ragged batch of tokens, and the same rows as queries for cross-attention. */
export interface DecoderBatch {
  readonly text: AttentionBatch;
  /** kvLengths [S]: encoder frames n; blockTable [S, 1]: their block. */
  readonly sound: Pick<AttentionBatch, 'cuSeqlens' | 'kvLengths' | 'blockTable'>;
}

export interface WhisperDecoder {
  /**
   * Writes cross-attention keys and values of the encoder's hidden states [n, D] into the sound cache, at `slots` [n].
   */
  listen(encoded: Tensor, sound: KvCache, slots: Tensor): void;
  /**
   * ids [T] → the residual stream after the last layer [T, D]. Appends to the text cache.
   * @param onQuery receives each layer's cross-attention queries [T, H, d]
   */
  hidden(
    ids: Tensor,
    batch: DecoderBatch,
    caches: DecoderCaches,
    onQuery?: (query: Tensor, layer: number) => void,
  ): Tensor;
  /** Rows of the residual stream [R, D] → logits [R, V]. */
  logits(x: Tensor): Tensor;
  /** Cross-attention keys of a layer: encoder's hidden states [n, D] → [n, D]. */
  soundKeys(encoded: Tensor, layer: number): Tensor;
}

export function whisperDecoder(b: Backend, w: DecoderWeights, config: StackConfig): WhisperDecoder {
  const { heads, headDim } = config;
  const feedForward = geluFeedForward(b);
  const norm = layerNorm(b);
  const attnConfig = { heads, kvHeads: heads, headDim, scale: 1 / Math.sqrt(headDim) };
  const byHead = (x: Tensor) => b.view(x, [x.shape[0]!, heads, headDim]); // [T, D] → [T, H, d]
  const flat = (x: Tensor) => b.view(x, [x.shape[0]!, heads * headDim]); // [T, H, d] → [T, D]

  type Layer = DecoderWeights['layers'][number];

  const selfAttention = (x: Tensor, layer: Layer, batch: AttentionBatch, cache: KvCache, i: number) => {
    const kv = cache.layer(i);
    const q = byHead(b.linear(x, layer.q, { bias: layer.qBias })); // [T, H, d]
    const k = byHead(b.linear(x, layer.k)); // [T, H, d]
    const v = byHead(b.linear(x, layer.v, { bias: layer.vBias })); // [T, H, d]
    b.kvAppend(kv, k, v, batch.slots);
    const y = b.attention(q, kv, batch, { ...attnConfig, causal: true }); // [T, H, d]
    return b.linear(flat(y), layer.attnOutput, { bias: layer.attnOutputBias }); // [T, D]
  };

  return {
    listen(encoded, sound, slots) {
      for (const [i, layer] of w.layers.entries()) {
        const k = byHead(b.linear(encoded, layer.crossK)); // [n, H, d]
        const v = byHead(b.linear(encoded, layer.crossV, { bias: layer.crossVBias })); // [n, H, d]
        b.kvAppend(sound.layer(i), k, v, slots);
      }
    },

    hidden(ids, { text, sound }, caches, onQuery) {
      let x = b.add(b.embed(w.embedding, ids), b.embed(w.positions, text.positions)); // [T, D]
      for (const [i, layer] of w.layers.entries()) {
        const normed = norm(x, layer.attnNorm, layer.attnNormBias);
        x = b.add(x, selfAttention(normed, layer, text, caches.text, i)); // [T, D]

        const asked = norm(x, layer.crossNorm, layer.crossNormBias);
        const q = byHead(b.linear(asked, layer.crossQ, { bias: layer.crossQBias })); // [T, H, d]
        onQuery?.(q, i);
        const batch = { ...text, ...sound };
        const y = b.attention(q, caches.sound.layer(i), batch, { ...attnConfig, causal: false }); // [T, H, d]
        x = b.add(x, b.linear(flat(y), layer.crossOutput, { bias: layer.crossOutputBias })); // [T, D]

        x = b.add(x, feedForward(norm(x, layer.ffnNorm, layer.ffnNormBias), layer)); // [T, D]
      }
      return x;
    },

    logits: (x) => b.linear(norm(x, w.outputNorm, w.outputNormBias), w.embedding), // [R, V]

    soundKeys: (encoded, layer) => b.linear(encoded, w.layers[layer]!.crossK), // [n, D]
  };
}
