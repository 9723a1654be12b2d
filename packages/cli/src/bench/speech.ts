import {
  type Backend,
  type DescribedModel,
  type DeviceCeilings,
  describeFile,
  loadSpeechModel,
  type SpeechModel,
  type TranscriptionStages,
} from '@quern/runtime';
import { type Check, compareWithPlainer } from './check.js';
import { BenchError } from './error.js';
import { figuresOf, type RunFigures, type RunOptions, runOf, type WorkFigures } from './run.js';
import { fastestFor, type Share } from './shares.js';
import { median } from './statistics.js';
import type { HearWork, WriteWork } from './works.js';

const sampleRate = 16_000;
/** Encoder positions: one per 20 ms. */
const positionsPerSecond = 50;

/** A tone with rising and falling pitch, one window long. */
function someSound({ config }: Pick<SpeechModel, 'config'>) {
  const length = (config.encoder.context / positionsPerSecond) * sampleRate;
  const at = (i: number) => 0.3 * Math.sin(i / 20 + 8 * Math.sin(i / 3000));
  return { sampleRate, samples: Float32Array.from({ length }, (_, i) => at(i)) };
}

/** Decodes `tokens` tokens per window; after an early end it continues with further windows. */
async function transcribe(
  model: SpeechModel,
  tokens: number,
  signal: AbortSignal,
): Promise<TranscriptionStages> {
  const { stages } = await model.transcribe(someSound(model), {
    language: 'en',
    temperatures: [0],
    noSpeechThreshold: 1,
    conditionOnPrevious: false,
    maxTokens: tokens,
    ignoreEnd: true,
    signal,
  }).result;
  if (stages.tokens === tokens * stages.windows) return stages;
  throw new BenchError(
    'WRONG_WORK',
    `${model.path}: asked for ${tokens} tokens about each of ${stages.windows} windows; got ${stages.tokens}: it takes at most ${Math.floor(model.config.decoder.context / 2)}: give another --gen`,
  );
}

/** The checked parts of a Whisper. */
type Checked = Pick<SpeechModel, 'path' | 'config' | 'compute'>;

/** The encoder's states of a window, and the logits of a few tokens. */
async function checkedRows(model: Checked, signal: AbortSignal): Promise<Float32Array[]> {
  const { encoded, logits } = await model.compute(someSound(model), { signal });
  return [encoded, ...logits];
}

/** `compareWithPlainer` for a Whisper and one window of audio. */
export const checkSpeech = (
  model: Checked,
  backend: Pick<Backend, 'name' | 'profile'>,
  signal: AbortSignal,
): Promise<Check | undefined> =>
  compareWithPlainer(backend, model.path, 'states and logits', {
    got: () => checkedRows(model, signal),
    expected: async (plainer) => {
      using plain = await loadSpeechModel(model.path, { backend: plainer, signal });
      return await checkedRows(plain, signal);
    },
  });

/** Operations: 2 per weight; convolutions: 2 per weight and output row; attention as in text encoders. */
function operationsOfWindow({ config: { encoder } }: SpeechModel): number {
  const { layers, width, feedForward, context, melBands } = encoder;
  const layer = 2 * (4 * width * width + 2 * width * feedForward) + 4 * width * context;
  return context * (layers * layer + 2 * 3 * width * (2 * melBands + width));
}

/** Bytes per token: weights, and 16-bit keys and values of the audio and of half the text. */
function bytesOfToken({ config: { decoder, encoder } }: SpeechModel, model: DescribedModel, tokens: number) {
  return model.bytesPerToken! + 2 * 2 * decoder.layers * decoder.width * (encoder.context + tokens / 2);
}

function hearShare(
  model: SpeechModel,
  format: string,
  ceilings: DeviceCeilings,
  milliseconds: number,
): Share {
  const [of, rate] = fastestFor(format, ceilings);
  return { share: (1000 * operationsOfWindow(model)) / milliseconds / rate, of };
}

const writeShare = (bytes: number, ceilings: DeviceCeilings, milliseconds: number): Share => ({
  share: (1000 * bytes) / milliseconds / ceilings.readBandwidth,
  of: 'read bandwidth',
});

/** Times of one window in the encoder, and of its tokens in the decoder. */
async function measureWork(
  model: SpeechModel,
  tokens: number,
  { repeat, signal }: RunOptions,
): Promise<{ hear: number[]; write: number[] }> {
  await transcribe(model, tokens, signal); // warms up
  const [hear, write]: [number[], number[]] = [[], []];
  while (hear.length < repeat) {
    const { windows, encodeMs, decodeMs } = await transcribe(model, tokens, signal);
    hear.push(encodeMs / windows);
    write.push(decodeMs / windows);
  }
  return { hear, write };
}

/**
 * Loads a Whisper on a backend, checks its output, times one audio window and its tokens. Rejects with the signal's
 * reason.
 */
export async function measureSpeech(
  path: string,
  backend: Backend,
  ceilings: DeviceCeilings | undefined,
  options: RunOptions,
): Promise<RunFigures> {
  const { mmap, signal, onWork, flags } = options;
  using model = await loadSpeechModel(path, { backend, mmap, signal });
  const residentBytes = process.memoryUsage.rss();
  const checked = options.check ? await checkSpeech(model, backend, signal) : undefined;
  const file = await describeFile(path);
  const heard: number[] = [];
  const written: WorkFigures[] = [];
  const hearWork: HearWork = { kind: 'hear', tokens: model.config.encoder.context };
  for (const tokens of flags.gen) {
    const work: WriteWork = { kind: 'write', tokens };
    onWork(work);
    const { hear, write } = await measureWork(model, tokens, options);
    heard.push(...hear);
    const perToken = median(write) / tokens;
    const share = ceilings && writeShare(bytesOfToken(model, file.model!, tokens), ceilings, perToken);
    written.push(figuresOf(work, write, share));
  }
  const share = ceilings && hearShare(model, file.formats[0]!.format, ceilings, median(heard));
  return runOf(backend, { model, residentBytes }, checked, [figuresOf(hearWork, heard, share), ...written]);
}
