import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { types } from 'node:util';
import { rules, showValue } from '@quern/core';
import { sampleRate } from '@quern/models';
import { decodeCompressed } from './compressed.js';
import { AudioError } from './error.js';
import { resample } from './resample.js';
import { nextSlice } from './slices.js';
import type { Sound } from './sound.js';
import { decodeWav, isWav } from './wav.js';

/** A path or file: URL, the bytes of a file, or samples: one array, or one per channel. */
export type AudioInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | { readonly samples: Float32Array | readonly Float32Array[]; readonly sampleRate: number };

/** Of what one buffer holds. */
const maxFileBytes = 2 ** 31 - 1;
/** Rates that any recorder has, in samples per second. */
const [leastRate, mostRate] = [1000, 384_000];

/**
 * Sound as Whisper takes it: one channel, the mean of all, at 16 kHz. Works in slices of milliseconds.
 * @throws AudioError; RuntimeError ABORTED comes from the caller's next step
 */
export async function readSamples(input: AudioInput, signal?: AbortSignal): Promise<Float32Array> {
  const sound = await decode(input);
  if (!(Number.isInteger(sound.sampleRate) && sound.sampleRate >= leastRate && sound.sampleRate <= mostRate))
    throw new AudioError(
      'BAD_HEADER',
      `${nameOf(input)}: has ${sound.sampleRate} samples per second; ${leastRate} to ${mostRate} are read`,
    );
  signal?.throwIfAborted();
  return resample(await mixDown(sound.channels), sound.sampleRate, sampleRate, signal);
}

const nameOf = (input: AudioInput): string =>
  typeof input === 'string' || input instanceof URL ? String(input) : 'the sound given';

async function decode(input: AudioInput): Promise<Sound> {
  if (typeof input === 'string') return decodeBytes(await readBytes(input), input);
  if (input instanceof URL) return decode(pathOf(input));
  if (input instanceof Uint8Array) return decodeBytes(input, nameOf(input));
  if (isArrayBuffer(input)) return decodeBytes(new Uint8Array(input), nameOf(input));
  needSound(input);
  const { samples } = input;
  const channels = samples instanceof Float32Array ? [samples] : samples;
  const sound = { sampleRate: input.sampleRate, channels };
  needSamples(sound);
  return sound;
}

const isArrayBuffer = (input: AudioInput): input is ArrayBuffer => types.isArrayBuffer(input);

/** @throws AudioError BAD_SAMPLES where Quern would have to download it */
function pathOf(url: URL): string {
  if (url.protocol === 'file:') return fileURLToPath(url);
  throw new AudioError(
    'BAD_SAMPLES',
    `${url.href}: Quern does not download: fetch the file, then give its path`,
  );
}

const wanted = 'a path, a file: URL, the bytes of a file, or { samples, sampleRate }';

/** @throws AudioError BAD_SAMPLES */
function needSound(input: unknown): void {
  if (rules.isObject(input) && 'samples' in input) return;
  throw new AudioError('BAD_SAMPLES', `the sound is ${showValue(input)}; it must be ${wanted}`);
}

function needSamples({ channels }: Sound): void {
  const length = Array.isArray(channels) ? channels[0]?.length : undefined;
  if (
    length !== undefined &&
    channels.every((channel) => channel instanceof Float32Array && channel.length === length)
  )
    return;
  throw new AudioError(
    'BAD_SAMPLES',
    'samples must be a Float32Array, or a list of them that are equally long',
  );
}

/** A file without sound is a recording that failed. @throws AudioError EMPTY beside those of the decoders */
async function decodeBytes(bytes: Uint8Array, from: string): Promise<Sound> {
  const sound = isWav(bytes) ? await decodeWav(bytes, from) : await decodeCompressed(bytes, from);
  if (sound.channels[0]!.length > 0) return sound;
  throw new AudioError('EMPTY', `${from}: has no samples: nothing was recorded`);
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    const status = await stat(path);
    if (!status.isFile()) throw new AudioError('READ_FAILED', `${path}: is not a file`);
    if (status.size > maxFileBytes)
      throw new AudioError(
        'TOO_LARGE',
        `${path}: has ${status.size} bytes; at most ${maxFileBytes} are read`,
      );
    return await readFile(path);
  } catch (error) {
    if (error instanceof AudioError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new AudioError('NOT_FOUND', `${path}: there is no such file`);
    throw new AudioError('READ_FAILED', `${path}: cannot be read (${code ?? message})`, { cause: error });
  }
}

async function mixDown(channels: readonly Float32Array[]): Promise<Float32Array> {
  if (channels.length === 1) return channels[0]!;
  const mixed = new Float32Array(channels[0]!.length);
  for (const channel of channels) {
    for (let i = 0; i < mixed.length; i++) mixed[i]! += channel[i]! / channels.length;
    await nextSlice();
  }
  return mixed;
}
