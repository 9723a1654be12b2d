import type { TranscriptionModelV3, TranscriptionModelV3CallOptions } from '@ai-sdk/provider';
import type { SpeechModel, TranscribeOptions } from '@quern/runtime';
import { type Names, ownOptions } from './own-options.js';

/** Options of `providerOptions.quern` for transcription models. */
export type TranscriptionModelOptions = Pick<
  TranscribeOptions,
  'beamSize' | 'bestOf' | 'language' | 'maxTokens' | 'prompt' | 'seed' | 'task' | 'temperatures'
>;

const names: Names<TranscriptionModelOptions> = {
  beamSize: true,
  bestOf: true,
  language: true,
  maxTokens: true,
  prompt: true,
  seed: true,
  task: true,
  temperatures: true,
};

/** A Whisper model of the runtime for `transcribe`. */
export class QuernTranscriptionModel implements TranscriptionModelV3 {
  readonly specificationVersion = 'v3';

  constructor(
    readonly provider: string,
    readonly modelId: string,
    private readonly model: SpeechModel,
  ) {}

  async doGenerate({ audio, providerOptions, abortSignal: signal }: TranscriptionModelV3CallOptions) {
    const bytes = typeof audio === 'string' ? new Uint8Array(Buffer.from(audio, 'base64')) : audio;
    const options = { ...ownOptions(providerOptions, names), signal };
    const { text, segments, language, duration } = await this.model.transcribe(bytes, options).result;
    return {
      text,
      segments: segments.map(({ start, end, text }) => ({ text, startSecond: start, endSecond: end })),
      language: language === '' ? undefined : language,
      durationInSeconds: duration,
      warnings: [],
      response: { timestamp: new Date(), modelId: this.modelId },
    };
  }
}
