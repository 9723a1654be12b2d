import type { GeluForm, Pooling, RopeOptions } from '@quern/core';

/** The sizes and constants of an encoder: all that a forward pass needs besides its weights. */
export interface EncoderConfig {
  readonly layers: number;
  /** D. */
  readonly width: number;
  /** H. */
  readonly heads: number;
  /** d. */
  readonly headDim: number;
  /** F. */
  readonly feedForward: number;
  /** V. */
  readonly vocabulary: number;
  /** Rows of the table of segments; 0: it has none. */
  readonly segments: number;
  /** Rows of the table of positions; 0: it has none, and rotates. */
  readonly positions: number;
  /** The row of that table that a text's first token takes. */
  readonly firstPosition: number;
  readonly rope: RopeOptions;
  readonly gelu: GeluForm;
  readonly normEps: number;
  /** Most tokens of a text. */
  readonly context: number;
  /** How the rows of a text become one. */
  readonly pooling: Pooling;
  /** Embeddings have length 1. */
  readonly normalise: boolean;
  /** Outputs of the classifier; 0: it has none. */
  readonly labels: number;
}

/** What the files beside config.json say of sentence-transformers' models. */
export type EmbeddingRules = Pick<EncoderConfig, 'pooling' | 'normalise'> & { readonly maxTokens?: number };
