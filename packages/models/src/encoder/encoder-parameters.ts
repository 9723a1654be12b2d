import type { GeluForm, Pooling, RopeOptions } from '@quern/core';
import type { MixtureConfig } from '../config/decoder-config.js';

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
  /** RoPE of layers with a window, if different. */
  readonly windowRope?: RopeOptions;
  readonly gelu: GeluForm;
  readonly normEps: number;
  /** Most tokens of a text. */
  readonly context: number;
  /** A row sees no later rows (decoders). Absent: it sees all rows of its text. */
  readonly causal?: boolean;
  /** Per layer: rows that a row sees around itself, half on each side; 0: all. Absent: all, in every layer. */
  readonly windows?: readonly number[];
  /** Widths behind each of the matrices that follow the pooling; absent: there are none. */
  readonly dense?: readonly number[];
  /** How a text's rows become one row. */
  readonly pooling: Pooling;
  /** Embeddings have length 1. */
  readonly normalise: boolean;
  /** How a text's rows become the one that the classifier reads; absent: 'cls'. */
  readonly labelPooling?: Pooling;
  /** The mixture of experts in sparse layers. */
  readonly mixture?: MixtureConfig;
  /** Outputs of the classifier; 0: no classifier. */
  readonly labels: number;
}

/** Settings from sentence-transformers' files beside config.json. */
export type EmbeddingRules = Pick<EncoderConfig, 'pooling' | 'normalise'> & { readonly maxTokens?: number };
