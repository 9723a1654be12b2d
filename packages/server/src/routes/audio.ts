import {
  type TranscribeOptions,
  type Transcription,
  type TranscriptionResult,
  toSrt,
  toVtt,
} from '@quern/runtime';
import * as z from 'zod';
import { begun } from '../chat/begun.js';
import { interleave } from '../chat/interleave.js';
import { Pushed } from '../chat/pushed.js';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor } from '../models.js';
import { parse } from '../requests/parse.js';
import { event, eventStream } from '../sse.js';
import { wholeJson, wholeText } from '../whole.js';

const formats = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;

/** The fields of the form, as texts; the file is checked apart. */
const request_ = z.strictObject({
  model: z.string().optional(),
  language: z.string().optional(),
  prompt: z.string().optional(),
  response_format: z.enum(formats).default('json'),
  temperature: z.coerce.number().min(0).max(1).optional(),
  stream: z.enum(['true', 'false', '1', '0']).optional(),
  'timestamp_granularities[]': z.array(z.enum(['word', 'segment'])).optional(),
  'include[]': z.array(z.enum(['progress'])).optional(),
});

type AudioRequest = z.output<typeof request_>;

/** POST /v1/audio/transcriptions and /v1/audio/translations */
export const audio =
  (task: 'transcribe' | 'translate') =>
  async (request: Request, context: ServerContext, call: Call): Promise<Response> => {
    const { file, body } = await readForm(request, call);
    const isStream = body.stream === 'true' || body.stream === '1';
    const form = isStream ? 'events' : /json$/.test(body.response_format) ? 'json' : 'text';
    const { name, model } = await modelFor(context, call, 'speech', { model: body.model }, form);
    const ended = context.metrics.speech.begin(name);
    const transcribe = (more: TranscribeOptions = {}) =>
      model.transcribe(file, { ...optionsOf(body, task, call.signal), ...more });
    if (!isStream) {
      if (body['include[]']) throw badField('include[]', 'progress needs stream: true');
      return show(counted(transcribe().result, ended), body.response_format, task, call);
    }
    const events = body['include[]']?.length ? withProgress(transcribe, ended) : deltas(transcribe(), ended);
    return eventStream(await begun(events, call), call);
  };

async function readForm(request: Request, call: Call): Promise<{ file: Uint8Array; body: AudioRequest }> {
  const form = await request.formData().catch((error: Error) => {
    throw badField('', `the body is not a form (multipart/form-data): ${error.message}`, 'invalid_form');
  });
  const file = form.get('file');
  if (!file || typeof file === 'string')
    throw badField('file', 'send the sound as the file of the form', 'missing');
  form.delete('file');
  const fields = Object.fromEntries(
    [...form.keys()].map((name) => [name, name.endsWith('[]') ? form.getAll(name) : form.get(name)]),
  );
  return { file: new Uint8Array(await file.arrayBuffer()), body: parse(request_, fields, call) };
}

function optionsOf(
  body: AudioRequest,
  task: 'transcribe' | 'translate',
  signal: AbortSignal,
): TranscribeOptions {
  const { language, prompt, temperature } = body;
  const words = body['timestamp_granularities[]']?.includes('word');
  return {
    task,
    signal,
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperatures: [temperature] }),
    ...(words && { timestamps: 'word' }),
  };
}

/** Counts the seconds of a finished transcript. */
type Ended = (seconds: number) => void;

async function counted(result: Promise<TranscriptionResult>, ended: Ended): Promise<TranscriptionResult> {
  const found = await result;
  ended(found.duration);
  return found;
}

async function* deltas(transcription: Transcription, ended: Ended): AsyncGenerator<string> {
  for await (const { text, start, end } of transcription)
    yield event({ type: 'transcript.text.delta', delta: text, start, end });
  const { text } = await counted(transcription.result, ended);
  yield event({ type: 'transcript.text.done', text });
}

/** The same, with `transcript.progress` between: seconds of sound, `done` of `total`. */
async function* withProgress(
  transcribe: (more: TranscribeOptions) => Transcription,
  ended: Ended,
): AsyncGenerator<string> {
  const progress = new Pushed<string>();
  let last: number | undefined;
  const onProgress: TranscribeOptions['onProgress'] = ({ done, total }) => {
    if (done !== last) progress.push(event({ type: 'transcript.progress', done, total }));
    last = done;
  };
  const texts = ending(deltas(transcribe({ onProgress }), ended), () => progress.end());
  for await (const [, each] of interleave([progress, texts])) yield each;
}

async function* ending<T>(values: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  try {
    yield* values;
  } finally {
    end();
  }
}

const plain = 'text/plain; charset=utf-8';

/** A transcript as text: white space before it would change it. */
const texts: Readonly<Record<'text' | 'srt' | 'vtt', (result: TranscriptionResult) => string>> = {
  text: ({ text }) => `${text}\n`,
  srt: ({ segments }) => toSrt(segments),
  vtt: ({ segments }) => toVtt(segments),
};

function show(
  work: Promise<TranscriptionResult>,
  format: AudioRequest['response_format'],
  task: string,
  call: Call,
): Promise<Response> {
  if (format === 'verbose_json')
    return wholeJson(
      work.then((result) => verbose(result, task)),
      call,
    );
  if (format !== 'json')
    return wholeText(work.then(texts[format]), call, { contentType: plain, keepAlive: '' });
  return wholeJson(work.then(brief), call);
}

const brief = (result: TranscriptionResult) => ({
  text: result.text,
  ...cutOf(result),
  usage: usageOf(result),
});

const usageOf = ({ duration }: Pick<TranscriptionResult, 'duration'>) => ({
  type: 'duration',
  seconds: Math.ceil(duration),
});

/** Tokens at the beginning of a long `prompt` that were not read. */
const cutOf = ({ cutPromptTokens }: Pick<TranscriptionResult, 'cutPromptTokens'>) =>
  cutPromptTokens > 0 ? { cut_prompt_tokens: cutPromptTokens } : {};

const verbose = ({ text, language, duration, segments, ...rest }: TranscriptionResult, task: string) => ({
  task,
  language,
  duration,
  text,
  ...cutOf(rest),
  usage: usageOf({ duration }),
  words: segments.flatMap(({ words = [] }) => words.map(({ word, start, end }) => ({ word, start, end }))),
  segments: segments.map((each) => ({
    id: each.id,
    seek: 0,
    start: each.start,
    end: each.end,
    text: each.text,
    tokens: each.tokens,
    temperature: each.temperature,
    avg_logprob: each.averageLogProbability,
    compression_ratio: each.compressionRatio,
    no_speech_prob: each.noSpeechProbability,
  })),
});
