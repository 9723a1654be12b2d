import type { Backend, Tensor, Weight } from '@quern/core';

/** Whisper's sample rate, Hz. */
export const sampleRate = 16_000;
/** Samples per Fourier transform, 25 ms. */
const frame = 400;
/** Samples from frame to frame, 10 ms. */
export const hop = 160;
/** Frequencies of the transform: 0, 40, … 8000 Hz. */
const frequencies = frame / 2 + 1;
/** Lower bound of the power: log of silence must be finite. */
const floor = 1e-10;

/**
 * Whisper's log-mel spectrogram as two products on a backend: a windowed Fourier transform as a convolution (weights:
 * cosines and sines), then the mel filters times the powers.
 */
export class LogMel {
  private constructor(
    private readonly backend: Backend,
    readonly bands: number,
    private readonly transform: Weight,
    private readonly filters: Weight,
  ) {}

  /** @throws BackendError OUT_OF_MEMORY, DISPOSED. */
  static async load(backend: Backend, bands: number): Promise<LogMel> {
    const transform = await backend.loadWeight({
      name: 'windowed Fourier transform',
      shape: [2 * frequencies, frame],
      format: 'f32',
      bytes: new Uint8Array(fourierRows().buffer),
    });
    try {
      const filters = await backend.loadWeight({
        name: `${bands} mel filters`,
        shape: [bands, 2 * frequencies],
        format: 'f32',
        bytes: new Uint8Array(doubledFilters(bands).buffer),
      });
      return new LogMel(backend, bands, transform, filters);
    } catch (error) {
      transform.dispose();
      throw error;
    }
  }

  /** Samples needed before and after the frames: the transform is centred. */
  static readonly margin = frame / 2;

  /**
   * Records log₁₀ of the power per band: samples [160 · (n − 1) + 400] with margins, values in [−1, 1] → [n, M].
   * `normaliseLogMel` turns them into the encoder's input.
   */
  frames(samples: Tensor): Tensor {
    const b = this.backend;
    const signal = b.view(samples, [samples.shape[0]!, 1]);
    const spectrum = b.conv1d(signal, this.transform, { stride: hop }); // [n, 402]: cosines, then sines
    const powers = b.mul(spectrum, spectrum); // [n, 402]
    return b.log10(b.linear(powers, this.filters), { floor }); // [n, M]
  }

  dispose(): void {
    this.transform.dispose();
    this.filters.dispose();
  }
}

/**
 * The last step of the spectrogram, in place: values below largest − 8 are raised to it, then (x + 4) / 4, near [−1,
 * 1].
 */
export function normaliseLogMel(values: Float32Array, largest: number): void {
  for (let i = 0; i < values.length; i++) values[i] = (Math.max(values[i]!, largest - 8) + 4) / 4;
}

/** Cosines, then sines, of every frequency under a Hann window: [402, 400]. */
function fourierRows(): Float32Array<ArrayBuffer> {
  const rows = new Float32Array(2 * frequencies * frame);
  for (let k = 0; k < frequencies; k++)
    for (let n = 0; n < frame; n++) {
      const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / frame);
      const angle = (2 * Math.PI * ((k * n) % frame)) / frame;
      rows[k * frame + n] = window * Math.cos(angle);
      rows[(frequencies + k) * frame + n] = window * Math.sin(angle);
    }
  return rows;
}

/** Each filter twice, for squared cosines and squared sines: [M, 402]. */
function doubledFilters(bands: number): Float32Array<ArrayBuffer> {
  const filters = melFilters(bands);
  const doubled = new Float32Array(2 * filters.length);
  for (let m = 0; m < bands; m++) {
    const row = filters.subarray(m * frequencies, (m + 1) * frequencies);
    doubled.set(row, 2 * m * frequencies);
    doubled.set(row, (2 * m + 1) * frequencies);
  }
  return doubled;
}

/** Triangle filters over 0 … 8000 Hz, [M, 201], each of area 1 (Slaney 1998, Auditory Toolbox). */
export function melFilters(bands: number): Float32Array<ArrayBuffer> {
  const highest = melOf(sampleRate / 2);
  const corners = Array.from({ length: bands + 2 }, (_, i) => hertzOf((i * highest) / (bands + 1)));
  const filters = new Float32Array(bands * frequencies);
  for (let m = 0; m < bands; m++) {
    const [low, middle, high] = corners.slice(m, m + 3) as [number, number, number];
    for (let k = 0; k < frequencies; k++) {
      const hertz = (k * sampleRate) / frame;
      const height = Math.min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
      filters[m * frequencies + k] = Math.max(0, height) * (2 / (high - low));
    }
  }
  return filters;
}

// Slaney's mel scale. Below 1000 Hz linear: 200/3 Hz per mel. Above: 27 mel per factor 6.4.
const linearStep = 200 / 3;
const bend = 1000;
const logStep = Math.log(6.4) / 27;

function melOf(hertz: number): number {
  return hertz < bend ? hertz / linearStep : bend / linearStep + Math.log(hertz / bend) / logStep;
}

function hertzOf(mel: number): number {
  const above = mel - bend / linearStep;
  return above < 0 ? mel * linearStep : bend * Math.exp(logStep * above);
}
