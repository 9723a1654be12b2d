/** Decoded sound: one array per channel, of the same length, values in [−1, 1]. */
export interface Sound {
  /** Samples per second of each channel. */
  readonly sampleRate: number;
  readonly channels: readonly Float32Array[];
}
