/** The dimensions of a published encoder: what a synthetic one needs to cost the same. */
export interface EncoderShape {
  readonly layers: number;
  /** D. */
  readonly width: number;
  readonly heads: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  readonly context: number;
}

/** From the config.json of each model. */
export const encoderShapes = {
  'bge-small': { layers: 12, width: 384, heads: 12, feedForward: 1536, vocabulary: 30522, context: 512 },
  'bge-base': { layers: 12, width: 768, heads: 12, feedForward: 3072, vocabulary: 30522, context: 512 },
  'minilm-l6': { layers: 6, width: 384, heads: 12, feedForward: 1536, vocabulary: 30522, context: 512 },
  tiny: { layers: 2, width: 32, heads: 2, feedForward: 64, vocabulary: 256, context: 64 },
} as const satisfies Record<string, EncoderShape>;

export type EncoderShapeName = keyof typeof encoderShapes;
