// Embeddings, ranking and speech over HTTP, with OpenAI's own client where it has the route.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenAIEmbeddings } from '@langchain/openai';
import {
  type Embedder,
  loadEmbedder,
  loadSpeechModel,
  makeSyntheticEncoder,
  makeSyntheticSpeechModel,
  type SpeechModel,
} from '@quern/runtime';
import OpenAI, { toFile } from 'openai';
import { type RunningServer, serve } from '../src/index.js';
import { json, post } from './serving.js';
import { tone } from './tone.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-served-'));
let encoder: Embedder;
let speech: SpeechModel;
let server: RunningServer;
let client: OpenAI;
beforeAll(async () => {
  const [encoderPath, speechPath] = [join(folder, 'encoder.gguf'), join(folder, 'speech.gguf')];
  await makeSyntheticEncoder(encoderPath, { shape: 'tiny', format: 'f32', ranks: true });
  await makeSyntheticSpeechModel(speechPath, { shape: 'whisper-test', format: 'f32' });
  encoder = await loadEmbedder(encoderPath, { backend: 'cpu', onNotice: () => {} });
  speech = await loadSpeechModel(speechPath, { backend: 'cpu', onNotice: () => {} });
  server = await serve({ models: { encoder, speech }, port: 0 });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'any', maxRetries: 0 });
});
afterAll(async () => {
  await server.close();
  encoder.dispose();
  speech.dispose();
  rmSync(folder, { recursive: true });
});

const texts = ['a b c', 'b a', 'j i h g'];

describe('embeddings', () => {
  test('base64, floats and the model agree', async () => {
    const { values, dimensions, tokens } = await encoder.embed(texts);
    const rows = texts.map((_, i) => Array.from(values.subarray(i * dimensions, (i + 1) * dimensions)));
    const unnamed = await client.embeddings.create({ model: 'encoder', input: texts }); // asks for base64
    const floats = await client.embeddings.create({
      ...{ model: 'encoder', input: texts, encoding_format: 'float' as const },
    });
    expect(unnamed.data.map(({ embedding }) => Array.from(embedding))).toEqual(rows);
    expect(floats.data.map(({ embedding }) => embedding)).toEqual(rows);
    expect(floats.data.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(floats.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
  });

  test('one text, token ids, and lists of token ids', async () => {
    const ids = encoder.tokenizer.encode('a b c');
    const embed = async (input: OpenAI.EmbeddingCreateParams['input']) =>
      (await client.embeddings.create({ model: 'encoder', input, encoding_format: 'float' })).data.map(
        ({ embedding }) => embedding,
      );
    const [text] = await embed('a b c');
    expect(await embed(ids)).toEqual([text]);
    expect(await embed([ids, encoder.tokenizer.encode('b a')])).toEqual(await embed(['a b c', 'b a']));
  });

  test("LangChain's embeddings", async () => {
    const langchain = new OpenAIEmbeddings({
      ...{ model: 'encoder', apiKey: 'any', batchSize: 2, maxRetries: 0 },
      configuration: { baseURL: `${server.url}/v1` },
    });
    const { values, dimensions } = await encoder.embed(texts);
    const rows = await langchain.embedDocuments(texts);
    expect(rows).toHaveLength(3);
    for (const [i, row] of rows.entries())
      expect(Float32Array.from(row)).toEqual(values.slice(i * dimensions, (i + 1) * dimensions));
    expect(await langchain.embedQuery('a b c')).toEqual(rows[0]);
  });

  test.each([
    [{ input: [1, 'a'] }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: [[]] }, 'input.0'],
    [{ input: 'a', dimensions: 9999 }, 'dimensions'],
    [{ input: [10 ** 9] }, 'input'],
    [{ input: 'a', encoding_format: 'int8' }, 'encoding_format'],
    [{ input: [1, 2], prompt: 'query' }, 'prompt'],
  ])('refuses %j', async (body, param) => {
    const response = await post(`${server.url}/v1/embeddings`, { model: 'encoder', ...body });
    expect(response.status).toBe(400);
    expect((await json(response)).error).toMatchObject({ type: 'invalid_request_error', param });
  });
});

test('ranking', async () => {
  const body = { model: 'encoder', query: 'a b', documents: ['c d', { text: 'a b' }, 'e'], top_n: 2 };
  const found = await json(await post(`${server.url}/v1/rerank`, { ...body, return_documents: true }));
  const { ranked, tokens } = await encoder.rerank('a b', ['c d', 'a b', 'e']);
  const documents = ['c d', 'a b', 'e'];
  expect(found.results).toEqual(
    ranked.slice(0, 2).map(({ index, score }) => ({
      ...{ index, relevance_score: score, document: { text: documents[index] } },
    })),
  );
  expect(found.usage.total_tokens).toBe(tokens);
});

describe('speech', () => {
  const file = () => toFile(tone(), 'tone.wav');
  const fixed = { model: 'speech', language: 'en', temperature: 0 } as const;
  const expected = () => speech.transcribe(tone(), { language: 'en', temperatures: [0] }).result;

  test('a transcription in every form', async () => {
    const { text, segments, duration } = await expected();
    const plain = await client.audio.transcriptions.create({ ...fixed, file: await file() });
    expect(plain.text).toBe(text);
    const verbose = await client.audio.transcriptions.create({
      ...{ ...fixed, file: await file(), response_format: 'verbose_json' as const },
    });
    expect(verbose).toMatchObject({ task: 'transcribe', language: 'en', text, duration });
    expect(verbose.segments).toHaveLength(segments.length);
    const asText = (response_format: 'text' | 'srt' | 'vtt') =>
      file().then((sound) => client.audio.transcriptions.create({ ...fixed, file: sound, response_format }));
    expect(await asText('text')).toBe(`${text}\n`);
    expect(await asText('vtt')).toMatch(/^WEBVTT/);
    expect(typeof (await asText('srt'))).toBe('string');
  });

  test('a recording of a browser: WebM', async () => {
    const bytes = readFileSync(new URL('../../runtime/test/audio/files/tone.webm', import.meta.url));
    const verbose = await client.audio.transcriptions.create({
      ...{ ...fixed, file: await toFile(bytes, 'tone.webm'), response_format: 'verbose_json' as const },
    });
    expect(verbose.duration).toBeCloseTo(0.3, 1);
  });

  test('a recording of a phone: the error says how to convert it', async () => {
    const bytes = Buffer.from('0000000c667479704d344120000000086d6f6f76', 'hex');
    const made = client.audio.transcriptions.create({ ...fixed, file: await toFile(bytes, 'a.m4a') });
    await expect(made).rejects.toMatchObject({
      ...{ status: 400, param: 'file' },
      message: expect.stringContaining(
        'is MP4 with no sound track, which Quern does not decode; convert it: ffmpeg -i',
      ),
    });
  });

  test('a stream ends with the whole text', async () => {
    const stream = await client.audio.transcriptions.create({ ...fixed, file: await file(), stream: true });
    let [text, done] = ['', ''];
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') text += event.delta;
      if (event.type === 'transcript.text.done') done = event.text;
    }
    expect(done).toBe((await expected()).text);
    expect(text.trim()).toBe(done.trim());
  });

  test('a stream with its progress, in seconds of sound', async () => {
    const form = (fields: Readonly<Record<string, string>>) => {
      const made = new FormData();
      made.append('file', new Blob([new Uint8Array(tone())]), 'tone.wav');
      for (const [name, value] of Object.entries({ model: 'speech', temperature: '0', ...fields }))
        made.append(name, value);
      return fetch(`${server.url}/v1/audio/transcriptions`, { method: 'POST', body: made });
    };
    const body = await (await form({ stream: 'true', 'include[]': 'progress' })).text();
    const events = body
      .split('\n\n')
      .flatMap((each) => (each ? [JSON.parse(each.slice('data: '.length))] : []));
    const progress = events.filter(({ type }) => type === 'transcript.progress');
    expect(progress[0]).toEqual({ type: 'transcript.progress', done: 0, total: 1 });
    expect(progress.at(-1)).toEqual({ type: 'transcript.progress', done: 1, total: 1 });
    expect(new Set(progress.map(({ done }) => done)).size).toBe(progress.length);
    expect(events.find(({ type }) => type === 'transcript.text.delta')).toMatchObject({ start: 0 });
    expect(events.some(({ type }) => type === 'transcript.text.done')).toBe(true);
    const whole = await form({ 'include[]': 'progress' });
    expect(whole.status).toBe(400);
    expect((await json(whole)).error).toMatchObject({ param: 'include[]' });
  });

  test('a translation', async () => {
    const { text } = await speech.transcribe(tone(), { task: 'translate', temperatures: [0] }).result;
    const translated = await client.audio.translations.create({
      ...{ model: 'speech', temperature: 0, file: await file() },
    });
    expect(translated.text).toBe(text);
  });

  test('/metrics: transcripts, whole and streamed, and their seconds', async () => {
    const own = await serve({ models: { speech }, port: 0 });
    const mine = new OpenAI({ baseURL: `${own.url}/v1`, apiKey: 'any', maxRetries: 0 });
    await mine.audio.transcriptions.create({ ...fixed, file: await file() });
    const stream = await mine.audio.transcriptions.create({ ...fixed, file: await file(), stream: true });
    for await (const _ of stream);
    const text = await (await fetch(`${own.url}/metrics`)).text();
    const value = (name: string) =>
      Number(new RegExp(`^quern:speech_${name}\\{[^}]*\\} (.*)$`, 'm').exec(text)?.[1]);
    expect([value('requests_total'), value('request_latency_seconds_count')]).toEqual([2, 2]);
    expect(value('audio_seconds_total')).toBeCloseTo(2 * (await expected()).duration);
    await own.close();
  });

  test('refusals', async () => {
    const noise = await toFile(Buffer.from('no sound'), 'noise.wav');
    const whole = client.audio.transcriptions.create({ ...fixed, file: noise });
    await expect(whole).rejects.toMatchObject({ status: 400, param: 'file' });
    const streamed = client.audio.transcriptions.create({ ...fixed, file: noise, stream: true });
    await expect(streamed).rejects.toMatchObject({ status: 400, param: 'file' });
    const other = client.audio.transcriptions.create({ ...fixed, model: 'encoder', file: await file() });
    await expect(other).rejects.toMatchObject({ status: 400, param: 'model', code: 'wrong_kind' });
  });
});
