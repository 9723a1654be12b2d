/** Static settings of an attention. Everything else is a tensor of the batch. */
export interface AttnConfig {
  /** H, query heads. */
  readonly heads: number;
  /** Hk, key/value heads; H is a multiple of Hk (grouped-query attention). */
  readonly kvHeads: number;
  /** d, elements per head. */
  readonly headDim: number;
  /** Factor on q·k; 1/√d in most models. */
  readonly scale: number;
  /** A query sees only keys at its own position or before. */
  readonly causal: boolean;
  /** A query sees only the last `window` positions, itself included; absent or 0: all. */
  readonly window?: number;
  /** Scores become softCap · tanh(score / softCap); absent or 0: off. */
  readonly softCap?: number;
  /** The kernel may round q, k, v and the softmax weights to bf16, for models whose matrices are rounded too. */
  readonly bf16?: boolean;
}
