import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import type { Backend } from '@quern/core';
import { hop, LogMel, melFilters, normaliseLogMel, sampleRate } from '../src/index.js';
import { testedBackends } from './backends.js';
import { describeShared, readJson, shared } from './shared-data.js';

/** Frames 0 … count − 1 of a backend's log-mel; before the start the samples are mirrored, after the end zero. */
async function framesOf(backend: Backend, samples: Float32Array, bands: number, count: number) {
  const logMel = await LogMel.load(backend, bands);
  const { margin } = LogMel;
  const padded = new Float32Array((count - 1) * hop + 2 * margin);
  padded.set(samples.subarray(0, padded.length - margin), margin);
  for (let i = 1; i <= margin; i++) padded[margin - i] = samples[i]!;
  using step = backend.step();
  const values = (await step.read(logMel.frames(step.input(padded)))) as Float32Array;
  logMel.dispose();
  return values.slice();
}

/** One frame by the definition, in float64: Hann window, Fourier sum, powers, filters, logarithm. */
function definedFrame(samples: Float32Array, frame: number, filters: Float32Array, bands: number): number[] {
  const powers = Array.from({ length: 201 }, (_, k) => {
    let [re, im] = [0, 0];
    for (let n = 0; n < 400; n++) {
      const at = frame * hop + n - 200;
      const value = (samples[Math.abs(at)] ?? 0) * Math.sin((Math.PI * n) / 400) ** 2;
      re += value * Math.cos((2 * Math.PI * k * n) / 400);
      im -= value * Math.sin((2 * Math.PI * k * n) / 400);
    }
    return re * re + im * im;
  });
  return Array.from({ length: bands }, (_, m) => {
    const sum = powers.reduce((total, power, k) => total + power * filters[m * 201 + k]!, 0);
    return Math.log10(Math.max(sum, 1e-10));
  });
}

/** An f32 array of an .npz, a zip of .npy files. */
function npzArray(path: string, name: string): Float32Array {
  const zip = readFileSync(path);
  for (let at = 0; zip.readUInt32LE(at) === 0x04034b50; ) {
    const [packed, nameLength, extraLength] = [
      zip.readUInt32LE(at + 18),
      zip.readUInt16LE(at + 26),
      zip.readUInt16LE(at + 28),
    ];
    const start = at + 30 + nameLength + extraLength;
    if (zip.toString('latin1', at + 30, at + 30 + nameLength) === `${name}.npy`) {
      const npy = inflateRawSync(zip.subarray(start, start + packed));
      const data = npy.subarray(10 + npy.readUInt16LE(8));
      return new Float32Array(Uint8Array.from(data).buffer);
    }
    at = start + packed;
  }
  throw new Error(`${path} has no ${name}`);
}

const largestDistance = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);

describeShared('whisper', 'mel filters', () => {
  test.each([80, 128])('OpenAI’s %d bands', (bands) => {
    const expected = npzArray(shared('whisper', 'mel_filters.npz'), `mel_${bands}`);
    expect(largestDistance(melFilters(bands), expected)).toBeLessThan(1e-8);
  });
});

for (const { name: on, open } of await testedBackends())
  describeShared('tiny-hf', `log-mel on ${on}`, () => {
    let backend: Backend;
    beforeAll(async () => {
      backend = await open();
    });
    afterAll(() => backend.dispose());

    test('a sine: transformers’ values', async () => {
      const oracle = readJson('tiny-hf', 'whisper_mel_oracle.json');
      const sine = Float32Array.from(
        { length: sampleRate },
        (_, i) => 0.5 * Math.sin((2 * Math.PI * 440 * i) / sampleRate),
      );
      const values = await framesOf(backend, sine, 80, 101);
      const largest = values.reduce((a, b) => Math.max(a, b));
      normaliseLogMel(values, largest);
      const expected = (oracle.oracle_mel as number[][]).flat();
      expect(largestDistance(expected, values)).toBeLessThan(1e-4);
      expect(values.reduce((a, b) => Math.max(a, b))).toBeCloseTo(oracle.global_max, 5);
      const silence = Float32Array.of(-10);
      normaliseLogMel(silence, largest);
      expect(silence[0]).toBeCloseTo(oracle.padding_tail_value, 5);
    });
  });

for (const { name: on, slack, open } of await testedBackends())
  describeShared('whisper', `log-mel of speech on ${on}`, () => {
    test.each([80, 128])("%d bands: the definition's values with OpenAI's filters", async (bands) => {
      using backend = await open();
      const wav = readFileSync(shared('whisper', 'jfk.wav'));
      const start = wav.indexOf('data') + 8;
      const samples = Float32Array.from({ length: 32_000 }, (_, i) => wav.readInt16LE(start + 2 * i) / 32768);
      const values = await framesOf(backend, samples, bands, 190);
      const bound = slack === 1 ? 1e-4 : 2e-4; // f32 sums lose precision far below the loudest band
      const filters = npzArray(shared('whisper', 'mel_filters.npz'), `mel_${bands}`);
      for (const frame of [0, 1, 57, 120, 189]) {
        const expected = definedFrame(samples, frame, filters, bands);
        expect(largestDistance(expected, values.subarray(frame * bands)) / 4).toBeLessThan(bound); // the encoder's input is the value / 4
      }
    });
  });
