import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend as createReference, referenceDriver } from '@quern/backend-reference';
import { type Backend, defineBackend } from '@quern/core';
import { makeSyntheticSpeechModel } from '@quern/models';
import { loadSpeechModel, type Progress, type Segment, type SpeechModel } from '../../src/index.js';
import { wavFile } from '../audio/sound-files.js';
import { countingBackend, hasCpu } from '../backends.js';
import { collectGarbage } from '../collect-garbage.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-speech-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, 'whisper.gguf');
let backend: Backend;
let model: SpeechModel;
/** The native backend if present: the reference backend takes seconds. */
const openBackend = async (): Promise<Backend> =>
  hasCpu ? (await import('@quern/backend-cpu')).createBackend({ threads: 1 }) : createReference();
beforeAll(async () => {
  await makeSyntheticSpeechModel(path, { shape: 'whisper-test', format: 'f32' });
  backend = await openBackend();
  model = await loadSpeechModel(path, { backend });
}, 120_000);
afterAll(() => {
  model.dispose();
  backend.dispose();
});

/** A rising tone, 2.5 windows long. */
const tone = {
  sampleRate: 16_000,
  samples: Float32Array.from({ length: 40_000 }, (_, i) => 0.3 * Math.sin((i * i) / 200_000)),
};
/** Half a window of the tone. */
const short = { sampleRate: 16_000, samples: tone.samples.subarray(0, 8000) };
/** Random weights never emit the end token: few tokens per window, and no second attempt. */
const brief = { language: 'en', maxTokens: 6, temperatures: [0], noSpeechThreshold: 1 };

const words = (segments: readonly Segment[]) => segments.map(({ tokens }) => tokens);

test('audio longer than a window: segments in time order', async () => {
  const seen: Segment[] = [];
  const transcription = model.transcribe(tone, { ...brief, onSegment: (segment) => seen.push(segment) });
  const segments: Segment[] = [];
  for await (const segment of transcription) segments.push(segment);
  const result = await transcription.result;
  expect(segments.length).toBeGreaterThan(1);
  expect(result.segments).toEqual(segments);
  expect(seen).toEqual(segments);
  expect(result.duration).toBe(2.5);
  expect(result.stages.windows).toBeGreaterThanOrEqual(3);
  for (const [i, { id, start, end }] of segments.entries()) {
    expect(id).toBe(i);
    expect(end).toBeGreaterThan(start);
    expect(end).toBeLessThanOrEqual(2.5);
    if (i > 0) expect(start).toBeGreaterThanOrEqual(segments[i - 1]!.start);
  }
});

test('progress: the duration before the first window, then seconds of sound', async () => {
  const seen: Progress<'transcribe'>[] = [];
  const options = { ...brief, onProgress: (progress: Progress<'transcribe'>) => void seen.push(progress) };
  const transcription = model.transcribe(tone, options);
  for await (const { end } of transcription) expect(seen.at(-1)!.done).toBeLessThan(end);
  expect(seen[0]).toEqual({ phase: 'transcribe', done: 0, total: 2.5 });
  expect(seen[1]).toEqual({ phase: 'transcribe', done: 0, total: 2.5, temperature: 0 });
  expect(seen.at(-1)).toEqual({ phase: 'transcribe', done: 2.5, total: 2.5 });
  const done = seen.map((progress) => progress.done);
  expect(done).toEqual(done.toSorted((a, b) => a - b));
  expect(new Set(done).size).toBeGreaterThanOrEqual(4);
});

test('progress: each attempt at a window, with its temperature', async () => {
  const temperatures: (number | undefined)[] = [];
  const again = { temperatures: [0, 0.4, 0.8], logProbabilityThreshold: 0, noSpeechThreshold: 1 };
  const onProgress = ({ temperature }: Progress<'transcribe'>) => temperatures.push(temperature);
  await model.transcribe(short, { ...brief, ...again, onProgress }).result;
  expect(temperatures.slice(0, 4)).toEqual([undefined, 0, 0.4, 0.8]);
});

test('an abort in the first event of progress: no window is computed', async () => {
  const abort = new AbortController();
  const { result } = model.transcribe(tone, {
    ...{ ...brief, signal: abort.signal },
    onProgress: () => abort.abort(),
    onSegment: () => expect('a segment').toBe('none'),
  });
  await expect(result).rejects.toMatchObject({ code: 'ABORTED' });
});

const itNatively = hasCpu ? test : test.skip;

itNatively('the reference backend writes the same', async () => {
  using reference = await createReference();
  using other = await loadSpeechModel(path, { backend: reference });
  const [expected, got] = [
    await model.transcribe(short, brief).result,
    await other.transcribe(short, brief).result,
  ];
  expect(got.segments.length).toBeGreaterThan(0);
  expect(words(got.segments)).toEqual(words(expected.segments));
});

test('samples and file bytes of the same audio: the same text', async () => {
  const bytes = wavFile([Array.from(tone.samples)], { bits: 32, float: true });
  const [a, b] = [await model.transcribe(tone, brief).result, await model.transcribe(bytes, brief).result];
  expect(words(b.segments)).toEqual(words(a.segments));
});

test('captured and recorded steps choose the same tokens', async () => {
  using recording = await loadSpeechModel(path, { backend, graph: false });
  const captured = await model.transcribe(tone, brief).result;
  const recorded = await recording.transcribe(tone, brief).result;
  expect(words(recorded.segments)).toEqual(words(captured.segments));
});

test('a beam is at least as likely as the greedy text', async () => {
  const greedy = await model.transcribe(tone, brief).result;
  const beams = await model.transcribe(tone, { ...brief, beamSize: 3 }).result;
  expect(beams.segments[0]!.averageLogProbability).toBeGreaterThanOrEqual(
    greedy.segments[0]!.averageLogProbability - 1e-6,
  );
});

test('an unlikely text is sampled again at the next temperature', async () => {
  const options = { ...brief, temperatures: [0, 0.7], bestOf: 2, logProbabilityThreshold: 0 };
  const [first, second] = [
    await model.transcribe(tone, options).result,
    await model.transcribe(tone, options).result,
  ];
  expect(first.segments[0]!.temperature).toBe(0.7);
  expect(words(second.segments)).toEqual(words(first.segments));
});

test('a window without speech has no text', async () => {
  const silent = { ...brief, noSpeechThreshold: -1, logProbabilityThreshold: 0 };
  const result = await model.transcribe(tone, silent).result;
  expect(result).toMatchObject({ text: '', segments: [] });
  expect(result.stages.windows).toBe(3);
});

test('silence has no text, and computes no window', async () => {
  const silence = { samples: new Float32Array(40_000), sampleRate: 16_000 };
  const result = await model.transcribe(silence, { ...brief, language: 'auto' }).result;
  expect(result).toMatchObject({ text: '', segments: [], language: '', duration: 2.5 });
  expect(result.stages.windows).toBe(0);
});

test('no samples', async () => {
  const nothing = { samples: new Float32Array(0), sampleRate: 16_000 };
  expect(await model.transcribe(nothing, brief).result).toMatchObject({
    text: '',
    segments: [],
    duration: 0,
  });
});

test.each([1, 100, 399, 1600])('%d samples: less or slightly more than a frame', async (length) => {
  const { duration, segments } = await model.transcribe(
    { sampleRate: 16_000, samples: tone.samples.slice(20_000, 20_000 + length) },
    brief,
  ).result;
  expect(duration).toBe(length / 16_000);
  for (const { start, end } of segments) {
    expect(start).toBeGreaterThanOrEqual(0);
    expect(end).toBeLessThanOrEqual(duration);
  }
});

itNatively('ten minutes: memory for samples and frames only; silence costs nothing', async () => {
  const samples = new Float32Array(600 * 16_000);
  samples.set(tone.samples.subarray(0, 16_000), 0);
  samples.set(tone.samples.subarray(0, 16_000), 597 * 16_000);
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const { segments, stages, duration } = await model.transcribe(
    { sampleRate: 16_000, samples },
    { ...brief, onSegment: () => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)) },
  ).result;
  expect(duration).toBe(600);
  expect(segments[0]!.start).toBeLessThan(1);
  expect(segments.at(-1)!.start).toBeGreaterThan(595);
  expect(stages.windows).toBeLessThan(12);
  expect(most).toBeLessThan(samples.byteLength + 80e6); // frames are 20 MB
});

test('words are ordered and within the audio', async () => {
  const { segments } = await model.transcribe(tone, { ...brief, timestamps: 'word' }).result;
  const all = segments.flatMap(({ words }) => words!);
  expect(all.length).toBeGreaterThan(0);
  expect(segments.map(({ words }) => words!.map(({ word }) => word).join(''))).toEqual(
    segments.map(({ text }) => text),
  );
  for (const { start, end, probability } of all) {
    expect(start).toBeGreaterThanOrEqual(0);
    expect(end).toBeGreaterThanOrEqual(start);
    expect(end).toBeLessThanOrEqual(2.5 + 0.02);
    expect(probability).toBeGreaterThan(0);
  }
});

test('the language is detected among the vocabulary’s languages', async () => {
  const { language } = await model.transcribe(tone, { ...brief, language: 'auto' }).result;
  expect(model.languages).toContain(language);
});

test('a transcription can be read once; leaving the loop keeps the text so far', async () => {
  const transcription = model.transcribe(tone, brief);
  const segments: Segment[] = [];
  for await (const segment of transcription) {
    segments.push(segment);
    break;
  }
  expect((await transcription.result).segments).toEqual(segments);
  expect(() => transcription[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'CONSUMED' }));
});

test('a language by code or English name, in upper or lower case', async () => {
  for (const language of ['EN', 'English'])
    expect((await model.transcribe(short, { ...brief, language }).result).language).toBe('en');
});

test('options out of range are refused at reading', async () => {
  for (const options of [
    { language: 'klingon' },
    { beamSize: 0 },
    { temperatures: [] },
    { temperatures: [-1] },
    { task: 'sing' as 'translate' },
  ])
    expect(() => model.transcribe(tone, options)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
});

test('an abort ends a transcription within a step', async () => {
  const controller = new AbortController();
  const transcription = model.transcribe(tone, { ...brief, signal: controller.signal });
  const reader = transcription[Symbol.asyncIterator]();
  await reader.next();
  controller.abort();
  await expect(reader.next()).rejects.toMatchObject({ name: 'AbortError', code: 'ABORTED' });
  await expect(transcription.result).rejects.toMatchObject({ code: 'ABORTED' });
});

test('a reader that leaves during a window ends it within a step; the result has the text so far', async () => {
  const transcription = model.transcribe(tone, { ...brief, maxTokens: 400 });
  const reader = transcription[Symbol.asyncIterator]();
  const piece = reader.next();
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate); // a step takes a turn or more: 400 are to come
  await reader.return?.();
  expect((await piece).done).toBe(true);
  expect((await transcription.result).segments).toEqual([]);
});

test('an abort during a window ends it and frees its memory', async () => {
  const counting = countingBackend();
  using own = await loadSpeechModel(path, { backend: counting.backend });
  const before = counting.live();
  const controller = new AbortController();
  const options = { ...brief, maxTokens: 24, signal: controller.signal };
  const pending = own.transcribe(short, options).result;
  while (counting.live().buffers === before.buffers) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setTimeout(resolve, 50)); // during the encoder or the decoder
  controller.abort();
  await expect(pending).rejects.toMatchObject({ name: 'AbortError', code: 'ABORTED' });
  expect(counting.live()).toEqual(before);
});

test('every end of a transcription frees its memory', async () => {
  const counting = countingBackend();
  const own = await loadSpeechModel(path, { backend: counting.backend });
  const before = counting.live();
  await own.transcribe(short, { ...brief, maxTokens: 3, timestamps: 'word' }).result;
  for await (const _ of own.transcribe(short, { ...brief, maxTokens: 3 })) break;
  await own.transcribe(Buffer.from('no sound'), brief).result.catch(() => {});
  const controller = new AbortController();
  controller.abort();
  await own.transcribe(tone, { ...brief, signal: controller.signal }).result.catch(() => {});
  expect(counting.live()).toEqual(before);
  own.dispose();
  expect(counting.live()).toEqual({ buffers: 0, weights: 0 });
  await expect(own.transcribe(tone).result).rejects.toMatchObject({ code: 'DISPOSED' });
});

test('a transcription dropped after a segment frees its memory', async () => {
  const counting = countingBackend();
  using own = await loadSpeechModel(path, { backend: counting.backend });
  const before = counting.live();
  const begin = async () => {
    const reader = own.transcribe(tone, { ...brief, maxTokens: 3 })[Symbol.asyncIterator]();
    expect((await reader.next()).done).toBe(false);
  };
  await begin();
  expect(counting.live()).not.toEqual(before);
  await collectGarbage(() => counting.live().buffers === before.buffers);
  expect(counting.live()).toEqual(before);
}, 120_000);

test('ignoreEnd: every window has maxTokens tokens', async () => {
  const maxTokens = Math.floor(model.config.decoder.context / 2);
  const options = { language: 'en', maxTokens, temperatures: [0], noSpeechThreshold: 1, ignoreEnd: true };
  const { stages } = await model.transcribe(tone, options).result;
  expect(stages.tokens).toBe(maxTokens * stages.windows);
});

itNatively('a window’s results equal the reference backend’s', async () => {
  using reference = await createReference();
  using other = await loadSpeechModel(path, { backend: reference });
  const [got, expected] = [await model.compute(short), await other.compute(short)];
  const { width, vocabulary, encoder } = model.config;
  expect(got.encoded).toHaveLength(encoder.context * width);
  expect(got.logits.map((row) => row.length)).toEqual(Array.from({ length: 4 }, () => vocabulary));
  const far = (a: Float32Array, b: Float32Array) => Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));
  for (const [i, row] of got.logits.entries()) expect(far(row, expected.logits[i]!)).toBeLessThan(1e-3);
  expect(far(got.encoded, expected.encoded)).toBeLessThan(1e-4);
});

test('an abort ends the computation of a window; after dispose: DISPOSED', async () => {
  await expect(model.compute(short, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'ABORTED',
  });
  const other = await loadSpeechModel(path, { backend });
  other.dispose();
  await expect(other.compute(short)).rejects.toMatchObject({ code: 'DISPOSED' });
});

test.each([
  ['a transcription', (own: SpeechModel): Promise<unknown> => own.transcribe(tone, brief).result],
  ['the computation of a window', (own: SpeechModel): Promise<unknown> => own.compute(short)],
])('dispose during %s', async (_, run) => {
  const driver = referenceDriver();
  let during = (): void => {};
  using watched = defineBackend({
    ...driver,
    kernels: {
      ...driver.kernels,
      linear(...call) {
        during();
        return driver.kernels.linear(...call);
      },
    },
  });
  const own = await loadSpeechModel(path, { backend: watched });
  during = () => own.dispose();
  const disposed = { name: 'RuntimeError', code: 'DISPOSED', message: 'the model has been disposed' };
  await expect(run(own)).rejects.toMatchObject(disposed);
});
