import type { GeluForm, Pooling, RopeOptions } from '@quern/core';

/** The sizes and constants of an encoder: a forward pass needs these and the weights. */
export interface EncoderConfig {
  readonly layers: number;
  /** D, the width of the hidden states. */
  readonly width: number;
  /** H, attention heads. */
  readonly heads: number;
  /** d, elements per head. */
  readonly headDim: number;
  /** F, the inner width of the feed-forward. */
  readonly feedForward: number;
  /** V, rows of the token embedding. */
  readonly vocabulary: number;
  /** Rows of the segment table; 0: no table. */
  readonly segments: number;
  /** Rows of the position table; 0: no table, RoPE instead. */
  readonly positions: number;
  /** Row of the position table for a text's first token. */
  readonly firstPosition: number;
  readonly rope: RopeOptions;
  readonly gelu: GeluForm;
  readonly normEps: number;
  /** Most tokens of a text. */
  readonly context: number;
  /** How a text's rows become one row. */
  readonly pooling: Pooling;
  /** Embeddings have length 1. */
  readonly normalise: boolean;
  /** Outputs of the classifier; 0: no classifier. */
  readonly labels: number;
}

/** Settings from sentence-transformers' files beside config.json. */
export type EmbeddingRules = Pick<EncoderConfig, 'pooling' | 'normalise'> & { readonly maxTokens?: number };
