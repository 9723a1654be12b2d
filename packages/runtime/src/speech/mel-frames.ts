import { hop, LogMel, normaliseLogMel, type WhisperModel } from '@quern/models';

/** The log-mel spectrogram of a whole recording: [frames, M], one frame per 10 ms. */
export class MelFrames {
  private constructor(
    private readonly values: Float32Array,
    private readonly bands: number,
    /** Frames that start within the sound. */
    readonly count: number,
    private readonly silence: number,
  ) {}

  /** @param samples at 16 kHz */
  static async of(
    samples: Float32Array,
    model: WhisperModel,
    signal: AbortSignal | undefined,
  ): Promise<MelFrames> {
    const bands = model.config.melBands;
    const frames = Math.ceil((samples.length + LogMel.margin) / hop); // frames after the end still overlap the sound
    const values = new Float32Array(frames * bands);
    let largest = powerOfSilence;
    for (let first = 0; first < frames; first += framesPerStep) {
      const count = Math.min(framesPerStep, frames - first);
      const part = await computeFrames(samples, first, count, model, signal);
      values.set(part, first * bands);
      for (const value of part) if (value > largest) largest = value;
    }
    for (let at = 0; at < values.length; at += framesPerStep * bands)
      normaliseLogMel(values.subarray(at, at + framesPerStep * bands), largest);
    const silence = Float32Array.of(powerOfSilence);
    normaliseLogMel(silence, largest);
    return new MelFrames(values, bands, Math.ceil(samples.length / hop), silence[0]!);
  }

  /** Whether all `count` frames from `first` on are silent: 80 dB below the recording's maximum, or without sound. */
  isSilent(first: number, count: number): boolean {
    const frames = this.values.subarray(first * this.bands, (first + count) * this.bands);
    return frames.every((value) => value === this.silence);
  }

  /** `count` frames from `first` on; silence after the end of the sound. */
  window(first: number, count: number): Float32Array {
    const window = new Float32Array(count * this.bands).fill(this.silence);
    window.set(this.values.subarray(first * this.bands, (first + count) * this.bands));
    return window;
  }
}

/** log₁₀ of the lower bound. */
const powerOfSilence = -10;
/** 30 seconds. */
const framesPerStep = 3000;

async function computeFrames(
  samples: Float32Array,
  first: number,
  count: number,
  { backend, logMel }: WhisperModel,
  signal: AbortSignal | undefined,
): Promise<Float32Array> {
  using step = backend.step();
  const frames = logMel.frames(step.input(withMargins(samples, first * hop, (count - 1) * hop + 1)));
  await step.run(signal ? { signal } : {});
  return (await step.read(frames)) as Float32Array;
}

/** `count` samples from `first` on with margins on both sides: mirrored at the start, zeros after the end. */
export function withMargins(samples: Float32Array, first: number, count: number): Float32Array {
  const { margin } = LogMel;
  const padded = new Float32Array(count + 2 * margin - 1);
  const from = first - margin;
  padded.set(samples.subarray(Math.max(0, from), Math.max(0, from + padded.length)), Math.max(0, -from));
  for (let i = 1; i <= -from; i++) padded[-from - i] = samples[i] ?? 0;
  return padded;
}
