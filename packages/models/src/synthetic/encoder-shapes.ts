/** The dimensions of a published encoder; a synthetic encoder with them has the same cost. */
export interface EncoderShape {
  readonly layers: number;
  /** D, the width of the hidden states. */
  readonly width: number;
  readonly heads: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  readonly context: number;
}

/** Source: config.json of each model. */
export const encoderShapes = {
  'bge-small': { layers: 12, width: 384, heads: 12, feedForward: 1536, vocabulary: 30522, context: 512 },
  'bge-base': { layers: 12, width: 768, heads: 12, feedForward: 3072, vocabulary: 30522, context: 512 },
  'minilm-l6': { layers: 6, width: 384, heads: 12, feedForward: 1536, vocabulary: 30522, context: 512 },
  tiny: { layers: 2, width: 32, heads: 2, feedForward: 64, vocabulary: 256, context: 64 },
} as const satisfies Record<string, EncoderShape>;

export type EncoderShapeName = keyof typeof encoderShapes;
