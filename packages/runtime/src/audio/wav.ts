import { yieldToEventLoop } from '@quern/core';
import { AudioError, type AudioErrorCode } from './error.js';
import type { Sound } from './sound.js';
import { ffmpegCommand } from './undecoded.js';

/** Sample coding: `wFormatTag` of the fmt chunk, or of its extension. */
const codings = { pcm: 1, float: 3, extensible: 0xfffe } as const;

interface Format {
  readonly channels: number;
  readonly sampleRate: number;
  /** Bytes per sample of one channel. */
  readonly bytes: number;
  readonly read: SampleReader;
}
type SampleReader = (view: DataView, at: number) => number;

const readers: Readonly<Record<string, SampleReader>> = {
  'pcm 8': (view, at) => (view.getUint8(at) - 128) / 2 ** 7,
  'pcm 16': (view, at) => view.getInt16(at, true) / 2 ** 15,
  'pcm 24': (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 2 ** 16) / 2 ** 23,
  'pcm 32': (view, at) => view.getInt32(at, true) / 2 ** 31,
  'float 32': (view, at) => view.getFloat32(at, true),
  'float 64': (view, at) => view.getFloat64(at, true),
};

/**
 * Sizes from here on are written by programs that do not know the length, as into a pipe: sox 0x7ffff000, arecord
 * 0x80000000, ffmpeg 0xffffffff. No file that is read is so large.
 */
const leastUnknown = 0x7ffff000;
const maxChannels = 256;

export const isWav = (bytes: Uint8Array): boolean => tag(bytes, 0) === 'RIFF' && tag(bytes, 8) === 'WAVE';

const tag = (bytes: Uint8Array, at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));

/**
 * The samples of a RIFF WAVE file: integers of 8, 16, 24 or 32 bits, floats of 32 or 64 bits.
 * @param from source of the bytes, for messages
 * @throws AudioError NOT_AUDIO, TRUNCATED, BAD_HEADER or UNSUPPORTED.
 */
export async function decodeWav(bytes: Uint8Array, from: string): Promise<Sound> {
  const file = new WavFile(bytes, from);
  const { format, data } = file.parse();
  const frames = Math.floor(data.byteLength / (format.bytes * format.channels));
  const channels = Array.from({ length: format.channels }, () => new Float32Array(frames));
  for (let frame = 0; frame < frames; ) {
    const end = Math.min(frames, frame + framesPerSlice);
    for (const [c, channel] of channels.entries())
      for (let i = frame; i < end; i++) {
        const value = format.read(data, (i * format.channels + c) * format.bytes);
        channel[i] = Number.isFinite(value) ? value : 0; // float files may contain NaN or infinity
      }
    frame = end;
    await yieldToEventLoop();
  }
  return { sampleRate: format.sampleRate, channels };
}

/** Work of 1 to 2 ms. */
const framesPerSlice = 2 ** 16;

class WavFile {
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly from: string,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  parse(): { format: Format; data: DataView } {
    if (!isWav(this.bytes)) this.fail('NOT_AUDIO', 'is not a WAV file: it does not begin with RIFF and WAVE');
    let format: Format | undefined;
    for (let at = 12; at < this.bytes.length; ) {
      this.need(at, 8, 'the head of a chunk');
      const [name, size] = [tag(this.bytes, at), this.view.getUint32(at + 4, true)];
      const start = at + 8;
      if (name === 'data') {
        if (!format) return this.fail('BAD_HEADER', 'has its data before the chunk with its coding');
        return { format, data: this.data(start, size, format) };
      }
      this.need(start, size, `the chunk '${name}'`);
      if (name === 'fmt ') format = this.format(start, size);
      at = start + size + (size % 2); // chunks start at even offsets
    }
    return this.fail('TRUNCATED', 'ends before its data begins: fetch it again');
  }

  private format(at: number, size: number): Format {
    if (size < 16) this.fail('BAD_HEADER', `describes its samples in ${size} bytes; 16 are needed`);
    const channels = this.view.getUint16(at + 2, true);
    const sampleRate = this.view.getUint32(at + 4, true);
    const bits = this.view.getUint16(at + 14, true);
    let coding = this.view.getUint16(at, true);
    if (coding === codings.extensible) {
      if (size < 40) this.fail('BAD_HEADER', `has an extensible description of ${size} bytes; 40 are needed`);
      coding = this.view.getUint16(at + 24, true);
    }
    if (channels < 1 || channels > maxChannels)
      this.fail('BAD_HEADER', `has ${channels} channels; 1 to ${maxChannels} are possible`);
    const name = coding === codings.pcm ? 'pcm' : coding === codings.float ? 'float' : `coding ${coding}`;
    const read = readers[`${name} ${bits}`];
    if (!read)
      return this.fail(
        'UNSUPPORTED',
        `has samples of ${name} ${bits} bits; ${Object.keys(readers).join(', ')} bits are read; convert it: ${ffmpegCommand(this.from)}`,
      );
    return { channels, sampleRate, bytes: bits / 8, read };
  }

  private data(start: number, size: number, { bytes, channels }: Format): DataView {
    const left = this.bytes.length - start;
    const length = this.isUnknown(size, left) ? left - (left % (bytes * channels)) : size;
    this.need(start, length, 'the samples');
    if (length % (bytes * channels) !== 0)
      this.fail('BAD_HEADER', `has ${length} bytes of samples, no whole number of ${bytes * channels}`);
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + start, length);
  }

  /** Whether the samples go on to the file's end. 0: the size was never written, unless RIFF's size is right. */
  private isUnknown(size: number, left: number): boolean {
    const riffEnd = 8 + this.view.getUint32(4, true);
    return size === 0 ? riffEnd !== this.bytes.length : size >= leastUnknown && size > left;
  }

  private need(at: number, length: number, what: string): void {
    if (at + length > this.bytes.length)
      this.fail(
        'TRUNCATED',
        `${what} at byte ${at} takes ${length} bytes, but the file has ${this.bytes.length}: it is incomplete; fetch it again`,
      );
  }

  private fail(code: AudioErrorCode, detail: string): never {
    throw new AudioError(code, `${this.from}: ${detail}`);
  }
}
