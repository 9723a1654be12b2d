// The provider under `ai` 7, beside the tests of `ai` 6: every kind of model, by its functions and its types.
import type { Embedder, Model, SpeechModel } from '@quern/runtime';
import {
  embedMany,
  generateText,
  Output,
  rerank,
  streamText,
  tool,
  experimental_transcribe as transcribe,
} from 'ai-7';
import { z } from 'zod';
import { createQuern, type QuernProvider } from '../src/index.js';
import { loadDemo, loadEncoder, loadWhisper, tone } from './models.js';

let model: Model;
let encoder: Embedder;
let whisper: SpeechModel;
let quern: QuernProvider;
beforeAll(async () => {
  [model, encoder, whisper] = await Promise.all([loadDemo(), loadEncoder(), loadWhisper()]);
  quern = createQuern({ models: { demo: model, encoder, whisper } });
});
afterAll(() => {
  for (const each of [model, encoder, whisper]) each.dispose();
});

const ask = () => ({
  model: quern('demo'),
  prompt: 'Tell me a story.',
  temperature: 0,
  maxOutputTokens: 12,
});

test('text, whole and streamed', async () => {
  const messages = [{ role: 'user', content: 'Tell me a story.' }];
  const direct = await model.chat(messages, { temperature: 0, maxTokens: 12, reuse: false }).result;
  const { text, usage, finishReason } = await generateText(ask());
  expect([text, finishReason]).toEqual([direct.text, 'length']);
  expect([usage.inputTokens, usage.outputTokens]).toEqual([direct.promptTokens, 12]);
  let streamed = '';
  for await (const delta of streamText(ask()).textStream) streamed += delta;
  expect(streamed).toBe(text);
});

test('an abort ends the stream and frees the cache', async () => {
  const ending = new AbortController();
  const free = model.freeBlocks;
  const stream = streamText({ ...ask(), maxOutputTokens: 900, abortSignal: ending.signal });
  for await (const _ of stream.textStream) ending.abort();
  expect(model.freeBlocks).toBe(free);
});

test('structured output', async () => {
  const schema = z.object({ city: z.enum(['Rome', 'Oslo']), days: z.int().min(1).max(9) });
  const { output } = await generateText({ ...ask(), maxOutputTokens: 80, output: Output.object({ schema }) });
  expect(schema.safeParse(output).success).toBe(true);
});

test('tools: a result, and an error as a part', async () => {
  const inputSchema = z.object({ city: z.enum(['Rome', 'Oslo']) });
  const call = (execute: (input: { city: string }) => string) => ({
    ...ask(),
    maxOutputTokens: 100,
    toolChoice: 'required' as const,
    tools: { weather: tool({ description: 'x', inputSchema, execute }) },
  });
  const { toolResults, finishReason } = await generateText(call(({ city }) => `rain in ${city}`));
  expect([finishReason, toolResults[0]!.output]).toEqual(['tool-calls', expect.stringMatching(/^rain in /)]);
  const failing = () => {
    throw new Error('no luck');
  };
  const { content } = await generateText(call(failing));
  expect(content).toContainEqual(
    expect.objectContaining({ type: 'tool-error', error: new Error('no luck') }),
  );
});

test('embeddings, reranking, transcription', async () => {
  const values = ['a mill', 'a fox'];
  const direct = await encoder.embed(values);
  const { embeddings } = await embedMany({ model: quern.embeddingModel('encoder'), values });
  expect(embeddings.flat()).toEqual(Array.from(direct.values));
  const { ranked } = await encoder.rerank('a mill', values);
  const { ranking } = await rerank({
    model: quern.rerankingModel('encoder'),
    query: 'a mill',
    documents: values,
  });
  expect(ranking.map(({ originalIndex }) => originalIndex)).toEqual(ranked.map(({ index }) => index));
  const providerOptions = { quern: { language: 'en', temperatures: [0], maxTokens: 4 } };
  const sound = { model: quern.transcriptionModel('whisper'), audio: tone(0.5), providerOptions };
  const heard = await transcribe(sound).catch((error: Error) => error.name); // a text may be empty
  expect(typeof heard === 'string' ? heard : heard.language).toMatch(/^(en|AI_NoTranscriptGeneratedError)$/);
});
