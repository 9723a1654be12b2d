import { fileURLToPath } from 'node:url';
import { types } from 'node:util';
import { rules, showValue, yieldToEventLoop } from '@quern/core';
import { sampleRate } from '@quern/models';
import { FileError, InputFile } from '@quern/quant';
import { indexOfBroken } from '../broken-numbers.js';
import { decodeCompressed, isCompressed } from './compressed.js';
import { AudioError } from './error.js';
import { resample } from './resample.js';
import type { Sound } from './sound.js';
import { inMemory } from './undecoded.js';
import { decodeWav, isWav } from './wav.js';

/** A path or file: URL, the bytes of a file, or samples (one array, or one array per channel). */
export type AudioInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | { readonly samples: Float32Array | readonly Float32Array[]; readonly sampleRate: number };

/** Size limit of one buffer. */
const maxFileBytes = 2 ** 31 - 1;
/** Sample rates of existing recorders, in samples per second. */
const [leastRate, mostRate] = [1000, 384_000];

/**
 * Audio in Whisper's format: one channel (the mean of all), 16 kHz. Works in slices of milliseconds.
 * @throws AudioError; the signal's reason
 */
export async function readSamples(input: AudioInput, signal?: AbortSignal): Promise<Float32Array> {
  const held = memoryOf(input);
  const before = byteLength(held);
  if (held.some(isDetached)) throw takenAway();
  try {
    const samples = await oneChannel(input, signal);
    if (byteLength(held) !== before) throw takenAway();
    return held.includes(samples) ? samples.slice() : samples; // a copy: the caller may change its array
  } catch (cause) {
    throw byteLength(held) === before ? cause : takenAway(cause);
  }
}

type Memory = Uint8Array | Float32Array | ArrayBuffer;

/** The buffers that belong to the caller. */
function memoryOf(input: AudioInput): readonly Memory[] {
  if (input instanceof Uint8Array || isArrayBuffer(input)) return [input];
  if (typeof input === 'string' || input instanceof URL || !rules.isObject(input)) return [];
  const channels: readonly unknown[] = [input.samples].flat();
  return channels.filter((channel) => channel instanceof Float32Array);
}

const byteLength = (held: readonly Memory[]): number => held.reduce((sum, each) => sum + each.byteLength, 0);

/** Whether the memory has been transferred: it allows no view. (`detached` needs Node 22.) */
function isDetached(memory: Memory): boolean {
  try {
    new Uint8Array('buffer' in memory ? memory.buffer : memory);
    return false;
  } catch {
    return true;
  }
}

const takenAway = (cause?: unknown): AudioError =>
  new AudioError(
    'BAD_SAMPLES',
    'the memory of the sound was transferred or resized: keep it as it is until the sound has been read',
    { cause },
  );

async function oneChannel(input: AudioInput, signal: AbortSignal | undefined): Promise<Float32Array> {
  const sound = await decode(input, signal);
  if (!(Number.isInteger(sound.sampleRate) && sound.sampleRate >= leastRate && sound.sampleRate <= mostRate))
    throw new AudioError(
      'BAD_HEADER',
      `${nameOf(input)}: has ${sound.sampleRate} samples per second; ${leastRate} to ${mostRate} are read`,
    );
  signal?.throwIfAborted();
  return resample(await mixDown(sound.channels), sound.sampleRate, sampleRate, signal);
}

const nameOf = (input: AudioInput): string =>
  typeof input === 'string' || input instanceof URL ? String(input) : inMemory;

async function decode(input: AudioInput, signal: AbortSignal | undefined): Promise<Sound> {
  if (typeof input === 'string') return decodeBytes(await readBytes(input), input, signal);
  if (input instanceof URL) return decode(pathOf(input), signal);
  if (input instanceof Uint8Array) return decodeBytes(input, nameOf(input), signal);
  if (isArrayBuffer(input)) return decodeBytes(new Uint8Array(input), nameOf(input), signal);
  needSound(input);
  const { samples } = input;
  const channels = samples instanceof Float32Array ? [samples] : samples;
  const sound = { sampleRate: input.sampleRate, channels };
  needSamples(sound);
  await needNumbers(sound);
  return sound;
}

const isArrayBuffer = (input: AudioInput): input is ArrayBuffer => types.isArrayBuffer(input);

/** @throws AudioError BAD_SAMPLES for URLs that would need a download */
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

/** Samples between two turns of the event loop. */
const samplesPerSlice = 2 ** 20;

/** NaN or infinity would spread to all samples nearby. @throws AudioError BAD_SAMPLES */
async function needNumbers({ channels }: Sound): Promise<void> {
  for (const channel of channels)
    for (let from = 0; from < channel.length; from += samplesPerSlice) {
      const slice = channel.subarray(from, from + samplesPerSlice);
      const index = indexOfBroken(slice);
      if (index >= 0)
        throw new AudioError(
          'BAD_SAMPLES',
          `sample ${from + index} is ${slice[index]}; samples are numbers from -1 to 1`,
        );
      await yieldToEventLoop();
    }
}

/** A file without samples is a failed recording. @throws AudioError EMPTY; errors of the decoders */
async function decodeBytes(bytes: Uint8Array, from: string, signal: AbortSignal | undefined): Promise<Sound> {
  const sound = isWav(bytes) ? await decodeWav(bytes, from) : await decodeCompressed(bytes, from, signal);
  if (sound.channels[0]!.length > 0) return sound;
  throw new AudioError('EMPTY', `${from}: has no samples: nothing was recorded`);
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    return await readSound(path);
  } catch (error) {
    throw error instanceof FileError ? asAudioError(error) : error;
  }
}

function asAudioError(cause: FileError): AudioError {
  if (cause.code === 'NOT_FOUND') return new AudioError('NOT_FOUND', cause.message, { cause });
  const advice = cause.code === 'NOT_A_FILE' ? ', or the bytes of one' : '';
  return new AudioError('READ_FAILED', cause.message + advice, { cause });
}

/** Enough to recognise every kind of audio file. */
const headBytes = 64;

/** The bytes of a file. Only the first bytes where they are no audio; decoding then reports the error. */
async function readSound(path: string): Promise<Uint8Array> {
  const file = await InputFile.open(path);
  try {
    const head = new Uint8Array(Math.min(headBytes, file.size));
    await file.read(0, head);
    if (!isWav(head) && !isCompressed(head)) return head;
    if (file.size > maxFileBytes)
      throw new AudioError('TOO_LARGE', `${path}: has ${file.size} bytes; at most ${maxFileBytes} are read`);
    const bytes = new Uint8Array(file.size);
    await file.read(0, bytes);
    return bytes;
  } finally {
    await file.close();
  }
}

async function mixDown(channels: readonly Float32Array[]): Promise<Float32Array> {
  if (channels.length === 1) return channels[0]!;
  const mixed = new Float32Array(channels[0]!.length);
  for (const channel of channels) {
    for (let i = 0; i < mixed.length; i++) mixed[i]! += channel[i]! / channels.length;
    await yieldToEventLoop();
  }
  return mixed;
}
