import {
  loadSpeechModel,
  optionSchemas,
  type Segment,
  type SpeechModel,
  srtCue,
  type TranscribeOptions,
  type Transcription,
  type TranscriptionResult,
  vttCue,
} from '@quern/runtime';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type BackendFlags, helpOf, numberOption, oneBackendOptions, withBackend } from '../options.js';
import { count } from '../terminal/count.js';
import { interruptible } from '../terminal/interrupt.js';
import { type ProgressBar, progressBar } from '../terminal/progress.js';
import { notice } from '../terminal/report.js';
import { write, writeJson } from '../terminal/write.js';

interface TranscribeFlags extends BackendFlags {
  readonly language: string;
  readonly translate?: boolean;
  readonly words?: boolean;
  readonly beams?: number;
  readonly temperatures?: readonly number[];
  readonly prompt?: string;
  readonly maxTokens?: number;
  readonly seed?: number | bigint;
  readonly format: 'text' | 'json' | 'srt' | 'vtt';
  readonly json?: boolean;
}

const { TranscribeOptions: transcribing } = optionSchemas;

function temperatures(text: string): number[] {
  const values = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  if (transcribing.temperatures.holds(values)) return values;
  throw new InvalidArgumentError('it must be finite numbers from 0 on, separated by commas.');
}

const transcribeOptions = (
  flags: TranscribeFlags,
  signal: AbortSignal,
  { update }: ProgressBar,
): TranscribeOptions => ({
  language: flags.language,
  task: flags.translate ? 'translate' : 'transcribe',
  timestamps: flags.words ? 'word' : 'segment',
  beamSize: flags.beams,
  ...(flags.temperatures && { temperatures: flags.temperatures }),
  ...(flags.prompt !== undefined && { prompt: flags.prompt }),
  ...(flags.maxTokens !== undefined && { maxTokens: flags.maxTokens }),
  ...(flags.seed !== undefined && { seed: flags.seed }),
  signal,
  onProgress: update,
});

/** The `--json` object; scripts depend on it. */
const jsonResult = (model: SpeechModel, result: TranscriptionResult) => ({
  text: result.text,
  segments: result.segments,
  language: result.language,
  duration: result.duration,
  cutPromptTokens: result.cutPromptTokens,
  stages: result.stages,
  loadMs: model.loadMs,
  backend: model.backend,
});

/** Output before the first segment, and per segment. */
const streamed = {
  text: { head: '', piece: ({ text }: Segment) => `${text.trim()}\n` },
  srt: {
    head: '',
    piece: (segment: Segment) => `${segment.id > 0 ? '\n' : ''}${srtCue(segment, segment.id + 1)}`,
  },
  vtt: { head: 'WEBVTT\n', piece: (segment: Segment) => `\n${vttCue(segment)}` },
};

async function stream(
  transcription: Transcription,
  format: keyof typeof streamed,
  bar: ProgressBar,
): Promise<void> {
  const { head, piece } = streamed[format];
  let written = head;
  for await (const segment of transcription) {
    bar.stop();
    await write(written + piece(segment));
    written = '';
  }
  await write(written); // no segments: the head alone
}

function summary(model: SpeechModel, { duration, language, stages }: TranscriptionResult): string {
  const spent = stages.melMs + stages.encodeMs + stages.decodeMs + stages.alignMs;
  const parts = (['mel', 'encode', 'decode', 'align'] as const)
    .filter((stage) => stages[`${stage}Ms`] > 0)
    .map((stage) => `${stage} ${Math.round(stages[`${stage}Ms`])} ms`);
  return (
    `${duration.toFixed(1)} s of sound (${language || 'no language'}) on ${model.backend} in ${(spent / 1000).toFixed(2)} s: ` +
    `${parts.join(', ')}; loaded in ${Math.round(model.loadMs)} ms`
  );
}

async function print(
  model: SpeechModel,
  audio: string,
  flags: TranscribeFlags,
  signal: AbortSignal,
): Promise<void> {
  const bar = progressBar();
  const transcription = model.transcribe(audio, transcribeOptions(flags, signal, bar));
  const format = flags.json ? 'json' : flags.format;
  try {
    if (format !== 'json') await stream(transcription, format, bar);
    else await transcription.result;
  } finally {
    bar.stop();
  }
  const result = await transcription.result;
  if (format === 'json') await writeJson(jsonResult(model, result));
  else notice(summary(model, result));
  const { cutPromptTokens: cut } = result;
  if (cut > 0)
    notice(
      `the prompt is too long: the first ${count(cut, 'token')} of it ${cut === 1 ? 'was' : 'were'} not read`,
    );
}

const isSound = (path: string): boolean => /\.(wav|flac|mp3|ogg|oga|opus|webm|mka|m4a|mp4|aac)$/i.test(path);

async function transcribe(
  path: string,
  audio: string,
  flags: TranscribeFlags,
  command: Command,
): Promise<void> {
  if (isSound(path))
    command.error(`error: ${path} is an audio file: the model comes first, then the audio file`);
  await interruptible(async (signal) => {
    const bar = progressBar();
    using model = await loadSpeechModel(path, {
      ...oneBackendOptions(flags),
      signal,
      onProgress: bar.update,
      onNotice: notice,
    }).finally(() => bar.stop());
    await print(model, audio, flags, signal);
  });
}

export const transcribeCommand = (): Command =>
  withBackend(new Command('transcribe'))
    .description('turn speech into text with a Whisper model')
    .argument(
      '<model>',
      'a folder with config.json and safetensors, a GGUF file, or a model file of whisper.cpp',
    )
    .argument('<audio>', 'WAV, FLAC, MP3, Ogg (Vorbis, Opus, FLAC) or WebM (Opus)')
    .option(
      '--language <code>',
      'the spoken language: de, german, …; auto: detected in the first 30 seconds with sound',
      'auto',
    )
    .option('--translate', 'translate to English')
    .option('--words', 'times of every word')
    .addOption(numberOption('--beams <n>', transcribing.beamSize))
    .option('--temperatures <list>', helpOf(transcribing.temperatures), temperatures)
    .option('--prompt <text>', transcribing.prompt.about)
    .addOption(numberOption('--max-tokens <n>', transcribing.maxTokens))
    .addOption(numberOption('--seed <s>', transcribing.seed))
    .addOption(
      new Option('--format <kind>', 'output format').choices(['text', 'json', 'srt', 'vtt']).default('text'),
    )
    .option('--json', 'same as --format json')
    .action(transcribe);
